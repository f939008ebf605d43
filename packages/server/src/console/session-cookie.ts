import { LIMITS } from '@svc/core/contract'

/** The cookie with the session token of the console. */
export const SESSION_COOKIE = 'svc_session'

/** The path of the cookie below the console: its API and its stream are there, and no page needs the cookie. */
const API_PATH = '/api'

interface CookiePlace {
  /** The path of the console in the browser. */
  base: string
  /** Whether the public URL is https. */
  secure: boolean
}

/** The header `Set-Cookie` that begins a session in a browser. */
export function sessionCookie(token: string, place: CookiePlace): string {
  return cookieText(token, LIMITS.jwt_lifetime_s, place)
}

/** The header `Set-Cookie` that removes the session from a browser. */
export function clearedSessionCookie(place: CookiePlace): string {
  return cookieText('', 0, place)
}

function cookieText(token: string, max_age_s: number, { base, secure }: CookiePlace): string {
  const parts = [`Path=${base}${API_PATH}`, `Max-Age=${max_age_s}`, 'HttpOnly', 'SameSite=Lax']
  return [`${SESSION_COOKIE}=${token}`, ...parts, ...(secure ? ['Secure'] : [])].join('; ')
}

/** The session token in a header `Cookie`; null if there is none. */
export function sessionTokenOf(header: string | undefined): string | null {
  const start = `${SESSION_COOKIE}=`
  const cookie = header?.split(/; */).find((each) => each.startsWith(start))
  return cookie?.slice(start.length) || null
}
