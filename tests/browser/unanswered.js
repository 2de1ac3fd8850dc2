// What a page has asked of its server: `unanswered` is empty once a run has ended well that began
// after the last question, and `asked` counts them. Streamlit's own state says so only when the
// server has said "running". A section that asks while the page has asked is not waited for: the
// server passes over those that the run of the page leaves out, and runs the others at once.
(() => {
  const [RERUN, FRAGMENT] = [11, 5]; // of BackMsg, and of what it asks
  const [NEW_SESSION, FINISHED, ANOTHER_FOLLOWS] = [4, 6, 2]; // of ForwardMsg, and a way to finish
  const fields = (bytes) => { // of a protobuf message: number -> its value, or its bytes
    const found = {};
    let at = 0;
    const varint = () => {
      let value = 0;
      for (let place = 1; ; place *= 128) {
        const byte = bytes[at++];
        value += (byte & 127) * place;
        if (byte < 128) return value;
      }
    };
    while (at < bytes.length) {
      const tag = varint();
      const kind = tag & 7;
      const value = kind === 0 || kind === 2 ? varint() : 0;
      const begin = at;
      at += { 0: 0, 1: 8, 2: value, 5: 4 }[kind];
      found[tag >>> 3] = kind === 2 ? bytes.subarray(begin, at) : value;
    }
    return found;
  };
  const answered = ({ data }) => {
    if (!(data instanceof ArrayBuffer)) return;
    const message = fields(new Uint8Array(data));
    if (NEW_SESSION in message) window.unanswered = "begun";
    const ended = FINISHED in message && message[FINISHED] !== ANOTHER_FOLLOWS;
    if (ended && window.unanswered === "begun") window.unanswered = "";
  };
  Object.assign(window, { unanswered: "", asked: 0 });
  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", answered);
    }

    send(data) {
      const asked = data instanceof Uint8Array && fields(data)[RERUN];
      if (asked) {
        if (!(FRAGMENT in fields(asked) && window.unanswered)) window.unanswered = "asked";
        window.asked += 1;
      }
      super.send(data);
    }
  };
})();
