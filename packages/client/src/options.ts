import { environmentOf, type Fetch } from './platform.ts'

/** Options of `Svc`. */
export interface SvcOptions {
  /** An API key, `svc_…`. Default: the variable `SVC_API_KEY`. */
  apiKey?: string | undefined
  /** A session token, for the endpoints that need one. Endpoints that accept both get the token. */
  token?: string | undefined
  /** The address of the service. Default: the variable `SVC_URL`, else `http://127.0.0.1:3000`, the address of `svc dev`. */
  baseUrl?: string | undefined
  /** The retries of a call after a network fault, 408, 429 or 5xx. Default: 2. */
  maxRetries?: number | undefined
  /** The time for one attempt in milliseconds. Default: 30,000. */
  timeout?: number | undefined
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: Fetch | undefined
  /** Whether `http` is allowed off this machine, for a private network. Default: false. */
  allowHttp?: boolean | undefined
}

/** The options of all calls. */
export interface Connection {
  /** Without a slash at its end, and without `/api/v1`. */
  readonly url: string
  readonly apiKey: string | undefined
  readonly token: string | undefined
  readonly maxRetries: number
  readonly timeout: number
  readonly fetch: Fetch
  /** Whether the program passed `fetch`. The texts of its faults may hold the request, with the key in any form. */
  readonly isForeignFetch: boolean
}

const DEFAULT_URL = 'http://127.0.0.1:3000'
const TIMEOUT_MS = 30_000
const MAX_RETRIES = 2

/** The characters that a header can have. The error of `fetch` for another character would show the key. */
const HEADER_TEXT = /^[\x21-\x7e]+$/

const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** @throws TypeError for an invalid address, a plain `http` address off this machine, and a malformed key. */
export function connectionOf(options: SvcOptions): Connection {
  const known = environmentOf('SVC_URL')
  const { allowHttp = false, maxRetries = MAX_RETRIES, timeout = TIMEOUT_MS } = options
  const url = addressOf(options.baseUrl ?? known ?? DEFAULT_URL, allowHttp)
  // The key of the environment belongs to the address beside it.
  const isMeant = known === undefined || options.baseUrl === undefined || sameAddress(known, url)
  const apiKey = options.apiKey ?? (isMeant ? environmentOf('SVC_API_KEY') : undefined)
  for (const [name, secret] of Object.entries({ apiKey, token: options.token })) {
    if (secret !== undefined && !HEADER_TEXT.test(secret)) {
      throw new TypeError(
        `${name} has characters that no key has: check that it was copied exactly`,
      )
    }
  }
  checkNumbers({ maxRetries, timeout })
  return {
    url,
    apiKey,
    token: options.token,
    maxRetries,
    timeout,
    // A global function that is called as a method throws in browsers.
    fetch: options.fetch ?? ((address, init) => fetch(address, init)),
    isForeignFetch: options.fetch !== undefined,
  }
}

/** More retries, or a longer wait for one attempt, are a mistake. */
const RETRIES_MAX = 20
const TIMEOUT_MAX_MS = 10 * 60_000

/** @throws TypeError for a number that would retry without end, or that no timer can have. */
export function checkNumbers({ maxRetries, timeout }: { maxRetries: number; timeout: number }) {
  if (!Number.isInteger(maxRetries) || maxRetries < 0 || maxRetries > RETRIES_MAX) {
    throw new TypeError(`maxRetries must be a whole number from 0 to ${RETRIES_MAX}`)
  }
  if (!(timeout > 0 && timeout <= TIMEOUT_MAX_MS)) {
    throw new TypeError(`timeout must be from 1 to ${TIMEOUT_MAX_MS} milliseconds`)
  }
}

function addressOf(text: string, allowHttp: boolean): string {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new TypeError('baseUrl must be an https address')
  }
  const { protocol, hostname, username, password, search, hash } = url
  if (username + password + search + hash !== '') {
    throw new TypeError('baseUrl must be without user, password, query and fragment')
  }
  const isSafe =
    protocol === 'https:' || (protocol === 'http:' && (allowHttp || LOOPBACK.test(hostname)))
  if (!isSafe) {
    throw new TypeError(
      `baseUrl must be https, got ${protocol}//${hostname}: http would show the key to the network; allowHttp: true allows it in a private one`,
    )
  }
  return trimmed(url.href)
}

function sameAddress(known: string, url: string): boolean {
  try {
    return trimmed(new URL(known).href) === url
  } catch {
    return false
  }
}

function trimmed(href: string): string {
  return href.replace(/(?<!\/)\/+$/, '').replace(/\/api\/v1$/, '')
}
