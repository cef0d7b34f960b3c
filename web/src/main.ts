import { mount } from 'svelte';
import App from './App.svelte';
import './app.css';
import { applyTheme } from './lib/live/theme.svelte';

applyTheme();
const page = document.getElementById('page');
if (page !== null) mount(App, { target: page });
