/** The interval of announcements: messages within it are announced together. */
const INTERVAL_MS = 1_500

/** Announces new messages to users of a screen reader. */
export function createAnnouncer(element) {
  let arrived = 0
  setInterval(() => {
    if (arrived > 0)
      element.textContent = arrived === 1 ? 'A new message' : `${arrived} new messages`
    arrived = 0
  }, INTERVAL_MS)

  return {
    announce(text) {
      element.textContent = text
    },
    count(messages) {
      arrived += messages
    },
  }
}
