/** What came within this is told once, and not each by itself. */
const GATHER_MS = 1_500

/** Tells whoever listens instead of looking what is new. */
export function createAnnouncer(element) {
  let arrived = 0
  setInterval(() => {
    if (arrived > 0)
      element.textContent = arrived === 1 ? 'A new message' : `${arrived} new messages`
    arrived = 0
  }, GATHER_MS)

  return {
    say(text) {
      element.textContent = text
    },
    count(messages) {
      arrived += messages
    },
  }
}
