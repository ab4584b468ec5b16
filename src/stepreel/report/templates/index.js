// Letters that do not fit their stretch of a timeline are left out.

function fitLetters() {
  for (const letter of document.querySelectorAll(".letter")) {
    const room = (letter.dataset.room / 100) * letter.closest(".scaled").clientWidth;
    letter.classList.toggle("crowded", room < 7 + 7 * letter.textContent.length);
  }
}

document.getElementById("theme").addEventListener("click", switchTheme);
addEventListener("resize", fitLetters);
fitLetters();
