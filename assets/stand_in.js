// Streamlit's front end without a server of its own: it asks none who may frame it, and in the place of
// its socket it is given one of the class `Made`. Returns what makes any other socket.
function standIn(root, Made) {
  window.__streamlit = {
    BACKEND_BASE_URL: root.href,
    HOST_CONFIG: { allowedOrigins: ["https://none.invalid"], useExternalAuthToken: false },
  };
  const Socket = window.WebSocket;
  window.WebSocket = function (url, ...more) {
    return String(url).includes("_stcore/stream") ? new Made() : new Socket(url, ...more);
  };
  Object.assign(window.WebSocket, { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 });
  return Socket;
}

class StandIn extends EventTarget { // such a socket, but for what it answers
  readyState = 0; binaryType = "arraybuffer"; bufferedAmount = 0;

  open(more) {
    Object.assign(this, { readyState: 1 }, more);
    this.dispatchEvent(new Event("open"));
  }

  close() {
    this.readyState = 3;
    this.dispatchEvent(new CloseEvent("close", { code: 1000, wasClean: true }));
  }
}
