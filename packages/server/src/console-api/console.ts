import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import type { Authenticator } from '../admission/authenticator.ts'
import { isLocal } from '../dev/local-only.ts'
import { PAGE_CSP, serveHandler, servePage } from '../pages/page.ts'
import { notice, plainPageCsp } from '../pages/plain-page.ts'
import type { Export } from '../routes/exports.ts'
import { type Handlers, mount } from '../routes/mount.ts'
import type { ConsoleAccess } from './access.ts'
import { BUNDLE_FOLDER, type Bundle, indexHtml, readBundle } from './bundle.ts'
import type { ConsoleFacts } from './console-answers.ts'
import { creditEndpoints, creditHandlers } from './credits.ts'
import { historyEndpoints, personEndpoints, sessionEndpoints } from './endpoints.ts'
import { findingEndpoints, findingHandlers } from './findings.ts'
import {
  consoleMessageHandlers,
  consoleMessages,
  conversationEndpoints,
  conversationHandlers,
  MAIL_CSP,
  messageHtml,
  messageHtmlHandlers,
  savedFilterEndpoints,
  savedFilterHandlers,
  sentRequestEndpoints,
  sentRequestHandlers,
} from './messages.ts'
import { operatorEndpoints, operatorSessionEndpoints } from './operator/endpoints.ts'
import { operatorHandlers, operatorSessionHandlers } from './operator/handlers.ts'
import { createBackgroundWork, type OperatorService } from './operator/service.ts'
import { hasPasskeys } from './passkey-requests.ts'
import { peopleEndpoints, peopleHandlers } from './people.ts'
import { secondFactorEndpoints, secondFactorHandlers } from './second-factor.ts'
import { personHandlers, sessionHandlers } from './session.ts'
import { streamEndpoints, streamHandlers } from './stream.ts'
import { tableEndpoints, tableHandlers } from './tables.ts'
import { templateEndpoints, templateHandlers } from './templates.ts'

/** The options of the console. */
export interface ConsoleOptions {
  /** The path of the console, with one segment or more; default: `/console`. */
  base?: string | undefined
  /** The name that the pages show; default: `svc`. */
  brand?: string | undefined
  /** Whether `/` leads to the console; default: false. */
  at_root?: boolean | undefined
  /** Whether `svc dev` serves the console; default: false. */
  dev?: boolean | undefined
  /** Finds the person behind a request without a session cookie. Default: people sign in with passwords. */
  authenticate?: ConsoleAccess['authenticate']
  /** The workspaces that a person of `authenticate` may choose; default: those of its login. */
  workspaces?: ConsoleAccess['workspaces']
  /** Whether the console has pages for operators; default: true. */
  operators?: boolean | undefined
  /** Whether operators need a second factor: without one they may only add it. Default: false. */
  second_factor?: boolean | undefined
  /** The minutes without a use after which a session ends; default: 240. */
  idle_minutes?: number | undefined
  /** What only the service itself knows, for the pages of operators. */
  service?: OperatorService | undefined
  /** The folder of the built console; default: that of this package. */
  folder?: string | undefined
}

/** Options for tests; the type of the API's options does not have them. */
export interface ConsoleTiming {
  /** The time between two checks of the session of an open stream; default: 15 s. */
  heartbeat_ms?: number | undefined
  /** The age of a check of the session that an event of a stream may use; default: 1 s. */
  checked_ms?: number | undefined
  /** The maximum of streams of the process; default: 1,000. */
  streams_max?: number | undefined
}

/** What the console must know about the service. */
interface ServiceFacts {
  /** Whether people may sign in with OIDC. */
  oidc: boolean
  self_service_domains: boolean
}

/** A person who comes back after lunch is still signed in, and one who comes back the next day is not. */
const IDLE_MINUTES = 240

const HTML = 'text/html; charset=utf-8'

/** Frames show e-mails, as documents of this service with a policy of their own. */
const CONSOLE_CSP = `${PAGE_CSP}; frame-src 'self'`

/** A document that a page of the console fills with a mail that is not stored: the page reaches it, and it runs no script. */
const EMPTY_MAIL = '<!doctype html><html lang="en"><title>E-mail</title></html>'
const EMPTY_MAIL_CSP = `${MAIL_CSP} allow-same-origin`

/** A file's name has a hash of its content. */
const IMMUTABLE = 'public, max-age=31536000, immutable'

/** Serves the pages of the console and its session. The endpoints of the API are mounted beside it. */
export async function serveConsole(
  app: FastifyInstance,
  admission: Admission,
  {
    core,
    authenticator,
    exportRows,
    access,
    options,
    now,
  }: {
    core: DecodedCore
    authenticator: Authenticator
    exportRows: Export
    access: ConsoleAccess
    options: ConsoleOptions & ConsoleTiming & ServiceFacts
    now: () => number
  },
): Promise<void> {
  const { base } = access
  const { folder = BUNDLE_FOLDER, at_root = false, brand = 'svc' } = options
  const { heartbeat_ms, checked_ms, streams_max } = options
  const bundle = await readBundle(folder)
  if (access.has_sign_in && hasPasskeys(access)) await core.members.preparePasskeys()
  mount(app, admission, sessionEndpoints, sessionHandlers(core, authenticator, access), {
    console: access,
  })
  mount(app, admission, personEndpoints, personHandlers(core, access), { console: access })
  const factors = secondFactorHandlers(core, authenticator, { access, brand })
  mount(app, admission, secondFactorEndpoints, factors, { console: access })
  const history: Handlers<typeof historyEndpoints> = {
    get: async ({ viewer, query: { unit } }) => ({
      points: await core.messages.history(viewer, unit),
    }),
    breakdown: ({ viewer, query: { unit } }) => core.messages.breakdown(viewer, unit),
  }
  mount(app, admission, historyEndpoints, history, { console: access })
  mount(app, admission, sentRequestEndpoints, sentRequestHandlers(core), { console: access })
  mount(app, admission, conversationEndpoints, conversationHandlers(core), { console: access })
  mount(app, admission, creditEndpoints, creditHandlers(core, now), { console: access })
  if (access.has_operators) {
    const work = createBackgroundWork(options.service ?? null, () => new Date(now()))
    app.addHook('preClose', async () => work.stop())
    const parts = {
      ...{ service: options.service ?? null, work, access, brand },
      elapsed: () => performance.now(),
    }
    mount(app, admission, operatorEndpoints, operatorHandlers(core, parts), { console: access })
    const sessions = operatorSessionHandlers(core, access)
    mount(app, admission, operatorSessionEndpoints, sessions, { console: access })
  }
  mount(
    app,
    admission,
    streamEndpoints,
    streamHandlers(app, core, authenticator, { heartbeat_ms, checked_ms, streams_max }),
    {
      console: { ...access, chooses_by_query: true, is_passive: true },
    },
  )
  mount(app, admission, consoleMessages, consoleMessageHandlers(core, exportRows), {
    console: access,
  })
  mount(app, admission, savedFilterEndpoints, savedFilterHandlers(core), { console: access })
  mount(app, admission, messageHtml, messageHtmlHandlers(core), {
    console: { ...access, chooses_by_query: true },
  })
  mount(app, admission, peopleEndpoints, peopleHandlers(core), { console: access })
  mount(app, admission, tableEndpoints, tableHandlers(core), { console: access })
  mount(app, admission, templateEndpoints, templateHandlers(core), { console: access })
  mount(app, admission, findingEndpoints, findingHandlers(core), { console: access })
  for (const name of Object.keys(bundle?.files ?? {})) {
    servePage(app, admission, {
      path: `${base}/assets/${name}`,
      file: `${folder}/${name}`,
      brotli: `${folder}/${name}.br`,
      // A page has about ten files, so that the limit for clients without a credential would be reached too early.
      rate: 'exempt',
      cache: IMMUTABLE,
    })
  }
  const mail = { path: `${base}/assets/mail.html`, rate: 'exempt', csp: EMPTY_MAIL_CSP } as const
  serveHandler(app, admission, mail, async (_, reply) => {
    reply.type(HTML).header('x-dns-prefetch-control', 'off')
    return EMPTY_MAIL
  })
  const { carriedChannels: carried, bulkRecipientsMax: bulk_recipients_max } = core
  const attachments_max_mb = Math.floor(core.attachmentsMaxBytes / 2 ** 20)
  const facts = { ...factsOf(options), carried, bulk_recipients_max, attachments_max_mb }
  for (const path of [base, `${base}/*`]) servePages(app, admission, path, { bundle, facts, base })
  if (!at_root) return
  serveHandler(app, admission, { path: '/' }, async (_, reply) => reply.redirect(`.${base}`, 302))
}

/** How requests of the console prove who sends them. */
export function accessOf(
  {
    base = '/console',
    authenticate,
    workspaces,
    dev = false,
    operators = true,
    idle_minutes = IDLE_MINUTES,
    second_factor: needs_second_factor = false,
  }: ConsoleOptions,
  public_url: () => string,
): ConsoleAccess {
  const has_sign_in = dev || !authenticate
  const idle_s = idle_minutes * 60
  return {
    ...{ base, public_url, authenticate, workspaces, has_sign_in, idle_s, needs_second_factor },
    has_operators: operators,
  }
}

function factsOf({
  brand = 'svc',
  dev = false,
  authenticate,
  oidc,
  self_service_domains,
  operators = true,
}: ConsoleOptions & ServiceFacts): Omit<
  ConsoleFacts,
  'carried' | 'bulk_recipients_max' | 'attachments_max_mb'
> {
  const facts = { brand, dev, self_service_domains, operators }
  if (authenticate && !dev) return { ...facts, sign_in: ['host'] }
  return { ...facts, sign_in: oidc ? ['password', 'oidc'] : ['password'] }
}

/** All pages are one document; its script shows the page of the path. */
function servePages(
  app: FastifyInstance,
  admission: Admission,
  path: string,
  { bundle, facts: given, base }: { bundle: Bundle | null; facts: ConsoleFacts; base: string },
): void {
  const only = ({ url }: { url: string }) =>
    !/^\/(?:api|assets|oidc)\//.test(url.slice(base.length))
  const refused = (retry_after_s: number) => ({
    html: notice(
      { brand: given.brand, console: null },
      'Too many requests',
      `Too many pages were opened from your network. This page loads again in ${retry_after_s} s.`,
    ),
    csp: plainPageCsp(),
  })
  const route = { path, only, refused, rate: 'console', csp: CONSOLE_CSP } as const
  serveHandler(app, admission, route, async (request, reply) => {
    const { url } = request
    // Only this machine has the tools of `svc dev`.
    const facts = { ...given, dev: given.dev && isLocal(request) }
    reply.type(HTML)
    if (!bundle)
      return notice(
        { brand: facts.brand, console: null },
        'No console',
        'The console was not built: run npm run build.',
      )
    return indexHtml(bundle, { facts, base, path: url.split('?', 1)[0] ?? '' })
  })
}
