// htmx refreshes parts of pages; live.js asks it for the feedback.
import htmx from "htmx.org/dist/htmx.esm.js";

window.htmx = htmx;
