import { LIMITS } from '@svc/core/contract'

/** The cookie with the session token of the console. */
const SESSION_COOKIE = 'svc_session'

/** The cookie with the session token of an operator: another one, so that neither passes as the other. */
const OPERATOR_COOKIE = 'svc_operator'

/**
 * With https the names have this prefix (RFC 6265bis, section 4.1.3.2): no other host of the domain can set such a cookie and
 * so sign a person in as another one. It requires the path `/`.
 */
const HOST_PREFIX = '__Host-'

/** The path of the cookies without the prefix, below the console: its API and its stream are there. */
const API_PATH = '/api'

/** Stands for two cookies of one name, of which only one is ours. No token has this form. */
const AMBIGUOUS = 'ambiguous'

interface CookiePlace {
  /** The path of the console in the browser. */
  base: string
  /** Whether the public URL is https. */
  secure: boolean
}

/** The headers `Set-Cookie` that begin a session in a browser. */
export function sessionCookie(token: string, place: CookiePlace): string | string[] {
  return cookieTexts(SESSION_COOKIE, token, LIMITS.jwt_lifetime_s, place)
}

/** The headers `Set-Cookie` that begin the session of an operator. */
export function operatorCookie(token: string, place: CookiePlace): string | string[] {
  return cookieTexts(OPERATOR_COOKIE, token, LIMITS.operator_session_s, place)
}

/** The headers `Set-Cookie` that remove the session of an operator from a browser. */
export function clearedOperatorCookie(place: CookiePlace): string | string[] {
  return cookieTexts(OPERATOR_COOKIE, '', 0, place)
}

/** The headers `Set-Cookie` that remove the session from a browser. */
export function clearedSessionCookie(place: CookiePlace): string | string[] {
  return cookieTexts(SESSION_COOKIE, '', 0, place)
}

/** With https also removes the cookie of versions that did not know the prefix. */
function cookieTexts(
  name: string,
  value: string,
  max_age_s: number,
  { base, secure }: CookiePlace,
): string | string[] {
  const text = (cookie: string, path: string, age_s: number) =>
    `${cookie}; Path=${path}; Max-Age=${age_s}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
  const path = `${base}${API_PATH}`
  if (!secure) return text(`${name}=${value}`, path, max_age_s)
  return [text(`${HOST_PREFIX}${name}=${value}`, '/', max_age_s), text(`${name}=`, path, 0)]
}

/** The session token in a header `Cookie`; null if there is none. A text that is no token, if there are two. */
export function sessionTokenOf(header: string | undefined): string | null {
  return tokenOf(SESSION_COOKIE, header)
}

/** The token of an operator in a header `Cookie`; null if there is none. A text that is no token, if there are two. */
export function operatorTokenOf(header: string | undefined): string | null {
  return tokenOf(OPERATOR_COOKIE, header)
}

/** Whether the session token is only in the cookie of versions that did not know the prefix. */
export function hasOldSessionCookie(header: string | undefined): boolean {
  return (
    valuesOf(HOST_PREFIX + SESSION_COOKIE, header).length === 0 &&
    valuesOf(SESSION_COOKIE, header).length === 1
  )
}

/** A cookie with the prefix counts before one without, which another host of the domain may have set. */
function tokenOf(name: string, header: string | undefined): string | null {
  for (const cookie of [HOST_PREFIX + name, name]) {
    const [value, ...others] = valuesOf(cookie, header)
    if (others.length > 0) return AMBIGUOUS
    if (value) return value
  }
  return null
}

function valuesOf(name: string, header: string | undefined): string[] {
  const start = `${name}=`
  const cookies = header?.split(/; */) ?? []
  return cookies.filter((each) => each.startsWith(start)).map((each) => each.slice(start.length))
}
