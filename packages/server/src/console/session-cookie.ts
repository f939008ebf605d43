import { LIMITS } from '@svc/core/contract'

/** The cookie with the session token of the console. */
export const SESSION_COOKIE = 'svc_session'

/** The header `Set-Cookie` that begins a session in a browser. `secure`: whether the public URL is https. */
export function sessionCookie(
  token: string,
  { path, secure }: { path: string; secure: boolean },
): string {
  const parts = [`Path=${path}`, `Max-Age=${LIMITS.jwt_lifetime_s}`, 'HttpOnly', 'SameSite=Lax']
  return [`${SESSION_COOKIE}=${token}`, ...parts, ...(secure ? ['Secure'] : [])].join('; ')
}
