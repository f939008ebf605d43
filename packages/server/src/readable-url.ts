/** A path that no endpoint has. */
const NOWHERE = '/%25'

/**
 * The URL as the router shall see it. The router answers a path that is no percent-encoded UTF-8 itself, past every
 * hook; seen as a path that nobody serves, it is counted, named and logged as any other.
 */
export function readableUrl(url: string): string {
  return url.includes('%') && !isDecodable(url.split('?', 1)[0] ?? '') ? NOWHERE : url
}

/** Whether a part of a URL is percent-encoded UTF-8. */
export function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
