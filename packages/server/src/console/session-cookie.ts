import { LIMITS } from '@svc/core/contract'

/** The cookie with the session token of the console. */
export const SESSION_COOKIE = 'svc_session'

/** The cookie with the session token of an operator: another one, so that neither passes as the other. */
export const OPERATOR_COOKIE = 'svc_operator'

/** The path of the cookies below the console: its API and its stream are there, and no page needs the cookie. */
const API_PATH = '/api'

interface CookiePlace {
  /** The path of the console in the browser. */
  base: string
  /** Whether the public URL is https. */
  secure: boolean
}

/** The header `Set-Cookie` that begins a session in a browser. */
export function sessionCookie(token: string, place: CookiePlace): string {
  return cookieText(`${SESSION_COOKIE}=${token}`, LIMITS.jwt_lifetime_s, place)
}

/** The header `Set-Cookie` that begins the session of an operator. */
export function operatorCookie(token: string, place: CookiePlace): string {
  return cookieText(`${OPERATOR_COOKIE}=${token}`, LIMITS.operator_session_s, place)
}

/** The header `Set-Cookie` that removes the session of an operator from a browser. */
export function clearedOperatorCookie(place: CookiePlace): string {
  return cookieText(`${OPERATOR_COOKIE}=`, 0, place)
}

/** The header `Set-Cookie` that removes the session from a browser. */
export function clearedSessionCookie(place: CookiePlace): string {
  return cookieText(`${SESSION_COOKIE}=`, 0, place)
}

function cookieText(cookie: string, max_age_s: number, { base, secure }: CookiePlace): string {
  const parts = [`Path=${base}${API_PATH}`, `Max-Age=${max_age_s}`, 'HttpOnly', 'SameSite=Lax']
  return [cookie, ...parts, ...(secure ? ['Secure'] : [])].join('; ')
}

/** The session token in a header `Cookie`; null if there is none. */
export function sessionTokenOf(header: string | undefined): string | null {
  return cookieValue(SESSION_COOKIE, header)
}

/** The token of an operator in a header `Cookie`; null if there is none. */
export function operatorTokenOf(header: string | undefined): string | null {
  return cookieValue(OPERATOR_COOKIE, header)
}

function cookieValue(name: string, header: string | undefined): string | null {
  const start = `${name}=`
  const cookie = header?.split(/; */).find((each) => each.startsWith(start))
  return cookie?.slice(start.length) || null
}
