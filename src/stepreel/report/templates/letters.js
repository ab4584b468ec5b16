"use strict";
// Letters that do not fit their bar of a timeline are hidden.

function hideCrowded(letters, widthOf) {
  for (const letter of letters) {
    const room = (Number(letter.dataset.room) / 100) * widthOf(letter);
    letter.classList.toggle("crowded", room < 7 + 7 * letter.textContent.length);
  }
}
