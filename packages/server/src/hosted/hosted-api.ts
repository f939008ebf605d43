import type { IncomingMessage } from 'node:http'
import type { Core } from '@svc/core'
import { RATES } from '@svc/core/contract'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Phase } from '../admission/gate.ts'
import { type ApiOptions, apiSettings, serveApi } from '../api.ts'

/** The options of the API inside another program's server. Only `core` is required. */
export interface HostedOptions
  extends Pick<
    ApiOptions,
    | 'logger'
    | 'sandbox_payments'
    | 'payment_landing'
    | 'now'
    | 'newRequestId'
    | 'load'
    | 'onAnswered'
    | 'console'
  > {
  /** The open core. The program closes it after the API. */
  core: Core
  /**
   * The public URL under which the host serves the API, with its prefix and without a slash at its end, such as
   * `https://app.example.com/messaging`. Pass the same function to `createCore`. Providers sign the URL that they call.
   */
  public_url?: (() => string) | undefined
  /** Signs the session tokens. Default: a secret that the core generated and keeps in its database. */
  jwt_secret?: string | undefined
  /** Rate limits; default for each bucket: the specification's limit, `RATES` of `@svc/core/contract`. */
  rates?: Partial<ApiOptions['config']['rates']> | undefined
  /** The load above which even sends are refused. */
  overload?: ApiOptions['config']['overload'] | undefined
  /** The name of the service on its pages; default: `svc`. Pass the same name to `createCore`. */
  brand?: string | undefined
  /** Whether workspaces add, rotate and remove sending domains themselves; default: false. */
  self_service_domains?: boolean | undefined
}

/** The API without a server of its own. */
export interface HostedApi {
  app: FastifyInstance
  /** Sets the client's address of a request, before `app` gets the request. */
  setAddress(request: IncomingMessage, address: string | undefined): void
  /** Reports `stopping` to health checks from now on, and still serves requests. */
  stop(): void
  isClosed(): boolean
  /** Refuses all later requests with 429. The requests in flight are completed. */
  close(): Promise<void>
}

/** Opens the API for requests that another server received. */
export async function openHostedApi(options: HostedOptions): Promise<HostedApi> {
  const { core, jwt_secret, rates, overload, public_url, brand, self_service_domains, ...others } =
    options
  const addresses = new WeakMap<IncomingMessage, string | undefined>()
  const phase: Phase = { now: 'open' }
  const api: ApiOptions = {
    ...others,
    public_url,
    config: {
      jwt_secret: jwt_secret ?? (await core.secret('jwt')),
      rates: { ...RATES, ...rates },
      ...(overload && { overload }),
      ...(brand !== undefined && { brand }),
      self_service_domains: self_service_domains ?? false,
    },
  }
  const app = Fastify(apiSettings(api))
  await serveApi(app, core, api, {
    phase,
    // The host owns its connections.
    beyond: new WeakSet(),
    addressOf: (request) =>
      addresses.has(request) ? addresses.get(request) : request.socket.remoteAddress,
  })
  await app.ready()
  let closing: Promise<void> | null = null
  return {
    app,
    setAddress: (request, address) => void addresses.set(request, address),
    stop() {
      if (phase.now === 'open') phase.now = 'lingering'
    },
    isClosed: () => phase.now === 'ending',
    close() {
      phase.now = 'ending'
      closing ??= app.close()
      return closing
    },
  }
}

/** Removes the prefix from a URL's path; returns the URL as it is if its path does not begin with the prefix. */
export function withoutPrefix(url: string, prefix: string): string {
  if (prefix === '' || !url.startsWith(prefix)) return url
  const rest = url.slice(prefix.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : url
}
