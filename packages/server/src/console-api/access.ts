import type { Role } from '@svc/core/contract'
import type { FastifyRequest } from 'fastify'
import { operatorTokenOf, sessionTokenOf } from './session-cookie.ts'

/** A person that the host of the console has authenticated. */
export interface ConsoleUser {
  workspace_id: string
  /** The id of the person, a UUID, for the audit log. Default: the owner of the workspace. */
  user_id?: string | undefined
  /** What the person may do. Default: `owner`. */
  role?: Role | undefined
  /** The name of the person as an operator of the service; default: the person is none. */
  operator?: string | undefined
}

/** A person that operates the service and belongs to no workspace. */
export interface ConsoleOperator {
  /** The name, for the audit log. */
  operator: string
}

/** A workspace that a person may choose. */
export interface Membership {
  id: string
  name: string
  role: string
}

/** How requests of the console prove who sends them. */
export interface ConsoleAccess {
  /** The path of the console in the app, such as `/console`. */
  base: string
  public_url(): string
  /**
   * Finds the person behind a request that has no session cookie: of a host with its own sign-in, or of `svc dev`. null: there
   * is none.
   */
  authenticate?:
    | ((request: FastifyRequest) => Promise<ConsoleUser | ConsoleOperator | null>)
    | undefined
  /** The workspaces that a person of `authenticate` may choose; default: those of its login. */
  workspaces?: (() => Promise<Membership[]>) | undefined
  /** Whether people sign in here, with a cookie; otherwise only the host names them. */
  has_sign_in: boolean
  /** Whether the console has pages for operators. */
  has_operators: boolean
  /** Whether an operator without a second factor may only add one. */
  needs_second_factor: boolean
  /** How long a session may be unused, in seconds. */
  idle_s: number
  /** Requests of the route are not a use of the session: an open page makes them without a person. */
  is_passive?: true
  /** The route reads the chosen workspace and mode in the query too, for clients that send no headers. */
  chooses_by_query?: true
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route belongs to the console: its credential is a cookie, and other sites may not call it. */
    console?: ConsoleAccess
  }
}

/** The workspace that a request of the console chose; undefined for the default of its session. */
export function chosenWorkspace(request: FastifyRequest): string | undefined {
  return chosen(request, 'workspace')
}

/** The data that a request of the console chose. */
export function chosenMode(request: FastifyRequest): 'live' | 'test' {
  return chosen(request, 'mode') === 'test' ? 'test' : 'live'
}

function chosen(
  { headers, query, routeOptions }: FastifyRequest,
  name: 'workspace' | 'mode',
): string | undefined {
  const inQuery = routeOptions.config.console?.chooses_by_query && (query as Named)[name]
  const value = headers[`x-svc-${name}`] ?? inQuery
  return typeof value === 'string' && value !== '' ? value : undefined
}

type Named = Record<string, unknown>

/** The session token in the cookie of a request; null for none. */
export function cookieToken({ headers }: FastifyRequest): string | null {
  return sessionTokenOf(headers.cookie)
}

/** The token of an operator in the cookie of a request; null for none. */
export function operatorToken({ headers }: FastifyRequest): string | null {
  return operatorTokenOf(headers.cookie)
}

/**
 * Whether a page of another origin sent a request. Browsers name the relation in `Sec-Fetch-Site`, and older browsers the
 * origin in `Origin`. A request that changes something must have one of the two.
 */
export function isForeign(request: FastifyRequest, { public_url }: ConsoleAccess): boolean {
  const { method, headers, host } = request
  const { 'sec-fetch-site': site, origin } = headers
  const isRead = method === 'GET' || method === 'HEAD'
  // `none`: the person typed the address.
  if (site !== undefined) return site !== 'same-origin' && !(site === 'none' && isRead)
  if (origin === undefined) return !isRead
  // A proxy may hide the protocol of the browser, but not the name of the host.
  return (
    origin !== new URL(public_url()).origin && !/^https?:$/.test(origin.replace(`//${host}`, ''))
  )
}

type Place = Pick<ConsoleAccess, 'base' | 'public_url'>

/** The path of the console in the browser, where a host may serve the app below a prefix. */
function browserBase({ base, public_url }: Place): string {
  return new URL(public_url()).pathname.replace(/\/$/, '') + base
}

/** Where a cookie of the console is valid. */
export function cookiePlace(access: Place): { base: string; secure: boolean } {
  return { base: browserBase(access), secure: access.public_url().startsWith('https:') }
}
