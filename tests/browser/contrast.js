// Every visible text with the contrast of its colour to what lies behind it, as WCAG 2 defines it.
() => {
  const channel = (c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parse = (text) => { // any CSS colour as red, green, blue, alpha
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3]));
  const paint = (element) => {
    const style = getComputedStyle(element);
    if (element instanceof SVGElement && !(element instanceof SVGSVGElement)) {
      if (["g", "text", "tspan", "title", "desc", "use"].includes(element.tagName) || style.fill === "none") return null;
      const found = parse(style.fill);
      found[3] *= parseFloat(style.fillOpacity) * parseFloat(style.opacity);
      return found;
    }
    return parse(style.backgroundColor);
  };
  const behind = (element, x, y) => {
    const layers = [];
    let seen = false;
    for (const one of document.elementsFromPoint(x, y)) {
      if (one === element || (element instanceof SVGElement && one.tagName === "text")) { seen = true; }
      if (!seen && !one.contains(element)) continue;
      seen = true;
      const colour = paint(one);
      if (colour && colour[3] > 0) layers.push(colour);
      if (colour && colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const results = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes) {
    const element = node.parentElement;
    if (!node.textContent.trim() || ["SCRIPT", "STYLE", "title", "desc"].includes(element.tagName)) continue;
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = [...range.getClientRects()].find((r) => r.width > 0 && r.height > 0);
    if (!box) continue;
    const style = getComputedStyle(element);
    const back = behind(element, box.x + box.width / 2, box.y + box.height / 2);
    const colour = parse(element instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [luminance(over(colour, back)), luminance(back)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    results.push({ text: node.textContent.trim().slice(0, 40), svg: element instanceof SVGElement, ratio, size: parseFloat(style.fontSize) });
  }
  return results;
}
