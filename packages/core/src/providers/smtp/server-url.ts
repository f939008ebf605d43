/** The mail server of an address. */
export interface MailServer {
  host: string
  port: number
  /** TLS from the first byte (RFC 8314, section 3), without STARTTLS. */
  is_tls: boolean
  credentials: { user: string; password: string } | null
}

const HOST = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])$/i

/**
 * Parses `smtp://user:password@host:port` (default port: 587) or `smtps://…` (465); null for anything else. A query is
 * refused: options are settings, and a copied address must not weaken the security.
 */
export function mailServer(text: string): MailServer | null {
  if (/[\s\p{Cc}]/u.test(text) || !URL.canParse(text)) return null
  const { protocol, hostname, port, pathname, search, hash, username, password } = new URL(text)
  if (protocol !== 'smtp:' && protocol !== 'smtps:') return null
  if (!/^\/?$/.test(pathname) || `${search}${hash}` !== '' || !HOST.test(hostname)) return null
  if ((username === '') !== (password === '')) return null
  const user = decoded(username)
  const secret = decoded(password)
  if (user === null || secret === null) return null
  const is_tls = protocol === 'smtps:'
  return {
    host: hostname.replace(/^\[|\]$/g, '').toLowerCase(),
    port: port === '' ? (is_tls ? 465 : 587) : Number(port),
    is_tls,
    credentials: user === '' ? null : { user, password: secret },
  }
}

/** Whether a host is this machine, so that no data crosses a network. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
