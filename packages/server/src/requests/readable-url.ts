/** A path without an endpoint. */
const NOWHERE = '/%25'

/**
 * The URL for the router. The router answers a path that is not percent-encoded UTF-8 without calling a hook. Such a
 * path is replaced by a path without an endpoint, so that the request is counted and logged.
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
