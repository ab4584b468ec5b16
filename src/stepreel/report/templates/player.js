"use strict";
// The playhead of a video. All times are seconds since the first frame; the video's own position is
// `offset` later. Without a usable video the playhead still moves, so that the page works.

class Player extends Playhead {
  constructor(video, offset, duration) {
    super(duration);
    this.video = video;
    this.offset = offset;
    // Without an address there is nothing to wait for; an error may have come before this script.
    const failed = video.error || video.networkState === HTMLMediaElement.NETWORK_NO_SOURCE;
    this.usable = video.hasAttribute("src") && !failed;
    this.stopAt = null;
    this.isOurSeek = false;
    this.onUsable = () => {};
    this.listen();
  }

  listen() {
    const on = (name, action) => this.video.addEventListener(name, action);
    on("error", () => this.setUsable(false));
    // With an unknown codec a browser may still load the sound: then there is no picture.
    on("loadedmetadata", () => this.setUsable(this.video.videoWidth > 0));
    on("timeupdate", () => this.tick());
    on("play", () => this.follow());
    on("seeking", () => {
      if (!this.isOurSeek) this.stopAt = null;
      this.onChange();
    });
    on("seeked", () => {
      this.isOurSeek = false;
      this.onChange();
    });
  }

  setUsable(usable) {
    this.usable = usable;
    this.onUsable();
  }

  now() {
    return this.usable ? Math.max(0, this.video.currentTime - this.offset) : this.position;
  }

  seek(seconds) {
    this.stopAt = null;
    this.position = Math.min(Math.max(seconds, 0), this.duration);
    if (this.usable) {
      this.isOurSeek = true;
      this.video.currentTime = this.position + this.offset;
    }
    this.onChange();
  }

  play() {
    // A browser may refuse to start a video by itself; then it stays paused.
    if (this.usable) this.video.play().catch(() => {});
  }

  toggle() {
    this.stopAt = null;
    if (this.video.paused) this.play();
    else this.video.pause();
  }

  playSpan(start, end) {
    this.seek(start);
    this.stopAt = end;
    this.play();
  }

  useFile(file, offset) {
    this.offset = offset;
    if (this.fileAddress) URL.revokeObjectURL(this.fileAddress);
    this.fileAddress = URL.createObjectURL(file);
    this.video.src = this.fileAddress;
    this.video.currentTime = this.position + this.offset;
  }

  follow() {
    // timeupdate comes four times a second; the playhead should move smoothly.
    const step = () => {
      this.tick();
      if (!this.video.paused && !this.video.ended) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  tick() {
    if (this.stopAt !== null && !this.video.seeking && this.now() >= this.stopAt) {
      this.stopAt = null;
      this.video.pause();
    }
    this.onChange();
  }
}
