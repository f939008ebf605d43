import type { IncomingMessage } from 'node:http'
import type { Awaitable } from '@svc/core/operate'
import type { ConsoleOperator, ConsoleUser } from '../console/access.ts'
import { createHandler, type Handler } from './handler.ts'
import type { HostedOptions } from './hosted-api.ts'

/** The options of `createConsole`. */
export interface CreateConsoleOptions
  extends Pick<
    HostedOptions,
    | 'core'
    | 'logger'
    | 'public_url'
    | 'rates'
    | 'brand'
    | 'self_service_domains'
    | 'sandbox_payments'
  > {
  /** The path of the console in the program, such as `/admin/messaging`. Default: `/console`. */
  basePath?: string | undefined
  /**
   * Finds the person behind a request, by the program's own session; null: the person is not signed in. An operator of
   * the whole service has `operator`, with or without a workspace. It is called for each
   * request. `request` is that of the program's server; with `fetch` it has only method, path and headers.
   */
  authenticate(request: IncomingMessage): Awaitable<ConsoleUser | ConsoleOperator | null>
}

/**
 * The console inside another program, with the sign-in of the program. It answers only requests below `basePath`, to which it
 * must be mounted: `app.use('/console', console.node)` in Express, `app.all('/console/*', (c) => console.fetch(c.req.raw))` in
 * Hono. Requests from pages of other origins are refused.
 * @throws RangeError for a `basePath` that is no path of one segment or more.
 */
export async function createConsole({
  basePath = '/console',
  authenticate,
  ...options
}: CreateConsoleOptions): Promise<Handler> {
  if (!/^(?:\/[\w.~-]+)+$/.test(basePath)) {
    throw new RangeError(`basePath: "${basePath}" must be a path such as /console`)
  }
  const handler = await createHandler({
    ...options,
    console: { base: basePath, authenticate: async ({ raw }) => authenticate(raw) },
  })
  const isBelow = (path: string) => path === basePath || path.startsWith(`${basePath}/`)
  return {
    ...handler,
    async fetch(request) {
      if (isBelow(new URL(request.url).pathname)) return handler.fetch(request)
      return new Response('Not found', { status: 404 })
    },
    node(request, response) {
      const { url = '/' } = request
      // Express removes the path of a mounted handler. Other paths of the API must not be reachable here.
      if (!isBelow(url.split('?', 1)[0] ?? ''))
        request.url = basePath + url.replace(/^\/(?=\?|$)/, '')
      handler.node(request, response)
    },
  }
}
