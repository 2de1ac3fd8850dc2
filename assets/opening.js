// The first seconds of a visit, drawn in the scene's own picture: a sentence comes in word by word,
// and what MHA keeps of it piles up until it leaves the frame, beside the little that MLA keeps. At the
// end all of it goes to where the scene has it. Who presses anything, or scrolls, has the scene at once.
const [CLEAR, READ, SETTLE, END] = [400, 500, 6300, 8400]; // milliseconds
const WORD = 250; // from one word to the next
const FLIGHT = 450; // from a word to its pile
const LEAVES = 5.6; // tokens of MHA that are as high as the picture
const LEAST_SEEN = 220; // pixels of the picture: with less in sight nothing is shown
const SEEN = "mlaOpening"; // in this tab
const VEIL = 42; // pixels at the upper edge, in which a pile fades
const LEAPS = ["click", "keydown", "wheel", "touchmove", "beforeprint"];

const eased = (at) => 1 - (1 - clamp(at)) ** 3;
const swung = (at) => clamp(at) ** 2 * (3 - 2 * clamp(at));

// Whether this tab has not seen it yet; where nothing is remembered it is not shown.
function unseen() {
  try {
    return !still() && !sessionStorage[SEEN];
  } catch {
    return false;
  }
}

class Opening {
  constructor(scene) {
    this.scene = scene;
    this.leap = (event) => {
      if (event.composedPath().includes(scene.button)) event.stopPropagation(); // it does not play
      this.end();
    };
  }

  begin() {
    const { root, svg, button, data } = this.scene;
    if (window.innerHeight - svg.getBoundingClientRect().top < LEAST_SEEN) return;
    sessionStorage[SEEN] = true;
    this.group = element(svg, "g", "opened", { "aria-hidden": true });
    this.time = 0;
    root.classList.add("opening");
    button.textContent = data.texts.skip;
    LEAPS.forEach((name) => window.addEventListener(name, this.leap, { capture: true, passive: true }));
    this.draw(0);
    this.run(performance.now());
  }

  run(before) { // a page that is out of sight waits
    this.next = requestAnimationFrame((now) => {
      this.time += Math.min(250, now - before);
      if (this.time >= END || !this.group.isConnected) this.end();
      else {
        this.draw(this.time);
        this.run(now);
      }
    });
  }

  end() {
    if (!this.group) return;
    const { root, svg, lower, upper, shelves } = this.scene;
    cancelAnimationFrame(this.next);
    LEAPS.forEach((name) => window.removeEventListener(name, this.leap, { capture: true }));
    this.group.remove();
    this.group = null;
    root.classList.remove("opening");
    root.style.removeProperty("--seen");
    [lower, upper, shelves].forEach((part) => part.removeAttribute("style"));
    this.scene.pause();
  }

  build() { // in the part of the picture that is in sight
    const { picture, svg, data: { opening } } = this.scene;
    const { width: all, height: whole, tall, shelf: { x: edge } } = picture;
    const { top, width, height } = svg.getBoundingClientRect();
    const scale = Math.min(width / all, height / (whole + OVER));
    const bottom = Math.min((window.innerHeight - top) / scale - OVER, whole);
    const type = parseFloat(svg.style.getPropertyValue("--type"));
    const [wide, gap, large] = tall ? [148, 40, 26] : [340, 164, 42];
    const ground = bottom - 3 * type;
    const per = (ground + OVER) / LEAVES / opening[0].each;
    const lefts = [edge, edge + wide + gap];
    this.ground = element(this.group, "path", "shelf", { d: `M${edge} ${ground}H${all - edge}` });
    this.piles = opening.map((pile, n) => this.pile(pile, { left: lefts[n], ground, wide, per, type }));
    this.sentence({ left: lefts[1], top: VEIL / scale, right: all - edge, type: large });
  }

  pile(pile, { left, ground, wide, per, type }) {
    const node = element(this.group, "g", "pile");
    let at = left;
    const high = per * pile.each;
    const parts = pile.parts.map(({ role, numbers, name }) => {
      const width = (wide * numbers) / pile.each;
      const part = { role, name, left: at, width };
      at += width;
      return part;
    });
    const slabs = this.scene.tokens.map((_, n) => parts.map((part) => ({
      node: square(node, `kept ${part.role}`, [0, 0, 0, 0]),
      share: (part.left - left) / wide, part: part.width / wide,
      box: [part.left, ground - (n + 1) * high, part.width, high],
    })));
    const names = parts.map((part) => {
      const y = ground - 0.5 * Math.min(high * this.scene.tokens.length, 2.4 * type) + 0.35 * type;
      const label = element(node, "text", "within", { x: part.left + part.width / 2, y });
      label.textContent = part.name;
      if (label.getComputedTextLength() > part.width) label.remove();
      return label;
    });
    const said = element(node, "text", "start", { x: left, y: ground + 1.25 * type });
    words(node, "start small", { x: left, y: ground + 2.45 * type }, pile.says);
    return { ...pile, node, slabs, names, said };
  }

  sentence({ left, top, right, type }) {
    let [x, y] = [left, top + type];
    this.words = this.scene.tokens.map((label) => {
      const node = element(this.group, "text", "start word");
      node.textContent = label.textContent;
      node.style.fontSize = `${type}px`;
      const long = node.getComputedTextLength();
      if (x + long > right) [x, y] = [left, y + 1.3 * type];
      const small = parseFloat(getComputedStyle(label).fontSize);
      const to = Number(label.getAttribute("x")) - (long * small) / type / 2;
      const word = { node, long, from: [x, y, type], to: [to, Number(label.getAttribute("y")), small] };
      x += long + 0.32 * type;
      return word;
    });
  }

  draw(time) {
    const { root, lower, upper, shelves } = this.scene;
    const settled = (time - SETTLE) / (END - SETTLE);
    const shown = time < CLEAR ? 1 - swung(time / CLEAR) : swung((settled - 0.3) / 0.7);
    [lower, upper, shelves].forEach((part) => { part.style.opacity = shown; });
    root.style.setProperty("--seen", shown);
    if (time < CLEAR) return; // and all around the picture has come to rest
    if (!this.piles) this.build();
    this.ground.style.opacity = swung((time - CLEAR) / 300) * (1 - swung(settled * 2));
    this.piles.forEach((pile, n) => this.drawPile(pile, n, time, settled));
    this.words.forEach((word, n) => this.drawWord(word, n, time, settled));
  }

  drawPile({ node, slabs, names, said, counts }, place, time, settled) {
    const { pieces } = this.scene;
    let done = 0;
    slabs.forEach((parts, n) => {
      const at = (time - READ - n * WORD) / FLIGHT;
      if (at > 0.6) done = n + 1;
      const { from: [x, y], long } = this.words[n];
      const ghost = this.ghost(n, parts);
      parts.forEach(({ node: slab, box, share, part }, k) => {
        const start = [x + long * share, y + 6, long * part, 3];
        const last = place ? pieces.filter((piece) => piece.n === n)[k].box : ghost[k];
        const [left, top, width, height] = settled > 0
          ? between(box, last, swung(settled * 1.9 - 0.05 * n)) : between(start, box, eased(at));
        set(slab, { x: left, y: top, width, height });
        slab.style.opacity = at > 0 ? (place ? 1 : 1 - swung(settled * 2.5 - 0.9)) : 0;
      });
    });
    const opacity = swung((time - READ + 100) / 400) * (1 - swung(settled * 3));
    node.querySelectorAll("text").forEach((text) => { text.style.opacity = opacity; });
    names.forEach((name) => { name.style.opacity = done === slabs.length || !place ? opacity * Math.min(1, done) : 0; });
    if (said.textContent !== counts[done]) said.textContent = counts[done];
  }

  ghost(n, parts) { // where the scene draws what MHA keeps of this token
    const { x, y, pitch, ghost: [wide, high] } = this.scene.picture.shelf;
    const left = x + pitch * n + (pitch - wide) / 2;
    return parts.map(({ share, part }) => [left + wide * share, y - 1.5 - high, wide * part, high]);
  }

  drawWord({ node, from, to }, n, time, settled) {
    const [x, y, type] = between(from, to, swung(settled * 1.6));
    set(node, { x, y });
    Object.assign(node.style, { fontSize: `${type}px`, opacity: swung((time - READ - n * WORD + 150) / 250) });
  }
}
