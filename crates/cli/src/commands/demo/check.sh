# Names each word of the sign that stands in no dictionary, and counts its own runs in check.log.
echo "checked" >> check.log
unknown=$(tr -cs 'A-Za-z' '\n' < sign.txt | tr 'A-Z' 'a-z' | grep -vxF -f words.txt | sed '/^$/d')
if [ -n "$unknown" ]; then
  echo "misspelled:" $unknown
  exit 1
fi
echo "the sign is spelled correctly"
