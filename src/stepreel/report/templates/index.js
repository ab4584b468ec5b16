// The index, and the part that the evaluation page shares with it.

function fitLetters() {
  hideCrowded(document.querySelectorAll(".letter"), (letter) => letter.closest(".scaled").clientWidth);
}

document.getElementById("theme").addEventListener("click", switchTheme);
addEventListener("resize", fitLetters);
fitLetters();
