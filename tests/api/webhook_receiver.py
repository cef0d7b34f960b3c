"""A receiver of webhooks that checks each signature by the Standard Webhooks library. It prints its address, and takes nothing that is not signed."""

import http.server
import sys

from standardwebhooks.webhooks import Webhook

webhook = Webhook(open(sys.argv[1], encoding="ascii").read().strip())


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            webhook.verify(body, {name.lower(): value for name, value in self.headers.items()})
            status = 200
        except Exception as error:
            print(f"not signed: {error}", file=sys.stderr)
            status = 401
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(f"http://127.0.0.1:{server.server_port}/hook", flush=True)
server.serve_forever()
