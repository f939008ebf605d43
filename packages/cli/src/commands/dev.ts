import { networkInterfaces } from 'node:os'
import { SETTINGS, shownSetting } from '@svc/server/settings'
import type { Command } from 'commander'
import { readDevFile, writeDevFile } from '../connect/dev-file.ts'
import { type Context, withExamples } from '../context.ts'
import { aborted, type ProcessIo, stopSignalOf } from '../process/process-io.ts'
import { dataFolder, pathFrom, settingsOf } from '../settings/data-folder.ts'
import {
  applyListenOptions,
  type ListenOptions,
  withListening,
} from '../settings/service-options.ts'
import { defaultOf, unknownVariables } from '../settings/setting-names.ts'
import { printable, styleFor } from '../show/text.ts'

const DEFAULT_PORT = defaultOf('PORT')
const SMTP_HOST = '127.0.0.1'
const SMTP_PORT = 2525
const DEMO_CREDITS = '100'
const DEMO_LOG_LEVEL = 'warn'

/** Adds `svc dev`: the service on this machine with a demo workspace. */
export function addDev(program: Command, context: Context): void {
  const command = withListening(
    program
      .command('dev')
      .summary('run the service on this machine, with a demo workspace and an API key')
      .description(
        `Runs the service on this machine with a SQLite file, a demo workspace with 100 credits, and an API key. The
sandbox serves channels without a provider. Webhooks may use plain http. They may also go to this machine, if only this
machine can reach the service. Prints the commands that send the first message. The console at /console needs no
password on this machine, and shows captured mails, a phone for replies, and each request. The settings are those of
svc serve.`,
      ),
  )
    .option('--no-requests', 'do not print a line for each request')
    .action((options: DevOptions) => dev(context, options))
  withExamples(command, 'svc dev', 'svc dev --port 8080 --data-dir /tmp/svc')
}

interface DevOptions extends ListenOptions {
  requests: boolean
}

async function dev(context: Context, options: DevOptions): Promise<void> {
  const { output } = context
  const io = applyListenOptions(context, options)
  const stop = stopSignalOf(io, { needs_output: false })
  const folder = dataFolder(io)
  const [
    { readConfig, startServer },
    { DEMO_PACKAGES, prepareDemo },
    { sidOf, workspaceSummary, isLoopback },
    { mailLine, requestLine, welcomeText },
  ] = await Promise.all([
    import('@svc/server'),
    import('../dev/demo.ts'),
    import('@svc/core/contract'),
    import('../dev/welcome.ts'),
  ])
  const port = io.env.PORT?.trim()
  const smtp_listen = settingsOf(io).SVC_SMTP_LISTEN?.trim()
  const config = readConfig(devSettings(io, { port, packages: DEMO_PACKAGES, smtp_listen }))
  const lineStyle = styleFor(io.stderr, io.env)
  let isReady = false
  let key: { workspace_id: string; api_key: string } | null = null
  const server = await startServer({
    config,
    dev: true,
    demo: () => key,
    // Only ports that the person did not choose.
    next_port: { http: !port, smtp: !smtp_listen },
    log_level: config.log_level,
    onAnswered(method, route, status, duration_ms, url) {
      if (!isReady || !options.requests) return
      const request = { method, url, route, status, duration_ms }
      const line = requestLine(request, new Date(), lineStyle)
      if (line !== null) output.note(line)
    },
    settings: SETTINGS.map((setting) => shownSetting(setting, io)),
  })
  try {
    const url = localAddress(server.url)
    const exposed_at = isLoopback(config.host) ? null : reachedAt(server.url)
    if (exposed_at) output.note(exposedText(exposed_at))
    for (const warning of unknownVariables(io.env)) output.note(`Warning: ${warning}`)
    const demo = await prepareDemo(server.core, await readDevFile(folder))
    const { api_key, password } = demo
    const { id, email } = demo.workspace
    key = { workspace_id: id, api_key }
    await writeDevFile(folder, { url, api_key, workspace: { id, email, password } })
    if (output.isJson()) {
      const workspace = workspaceSummary.encode(demo.workspace)
      output.document({
        url,
        console: `${url}/console`,
        api_key,
        twilio_account_sid: sidOf('account', id),
        smtp_urls: server.smtp_urls,
        workspace,
        password,
        data_dir: folder,
        ...(exposed_at && { exposed_at }),
      })
    } else {
      const svc = io.invocation ?? 'svc'
      const isFile = config.database_url.startsWith('file:')
      const data_place = isFile ? pathFrom(io.cwd, folder) : 'the PostgreSQL database'
      const providers = await server.core.providers.status()
      const { smtp_urls } = server
      const taken_port = port || new URL(url).port === DEFAULT_PORT ? null : Number(DEFAULT_PORT)
      const welcome = { url, demo, smtp_urls, taken_port, data_place, svc, providers }
      output.line(welcomeText(welcome, output.style))
    }
    isReady = true
    server.core.mails.onMail((mail) => output.note(printable(mailLine(mail))))
    await aborted(stop)
    output.note('Stopping…')
  } finally {
    await server.close()
  }
}

/**
 * Returns the settings of the environment with the defaults of a demo. With PORT=0 the system chooses the port of the SMTP inlet
 * too.
 */
function devSettings(
  io: ProcessIo,
  {
    port,
    packages,
    smtp_listen,
  }: { port: string | undefined; packages: string; smtp_listen: string | undefined },
): NodeJS.ProcessEnv {
  const { env } = io
  return {
    ...settingsOf(io),
    PORT: port || DEFAULT_PORT,
    SVC_SMTP_LISTEN: smtp_listen || `${SMTP_HOST}:${port === '0' ? 0 : SMTP_PORT}`,
    SVC_SIGNUP_CREDITS: env.SVC_SIGNUP_CREDITS?.trim() || DEMO_CREDITS,
    SVC_CREDIT_PACKAGES: env.SVC_CREDIT_PACKAGES?.trim() || packages,
    SVC_LOG_LEVEL: env.SVC_LOG_LEVEL?.trim() || DEMO_LOG_LEVEL,
  }
}

/** The warning for a server that other machines can reach. */
function exposedText(exposed_at: readonly string[]): string {
  return [
    `Warning: other machines can reach this service, at ${exposed_at.join(', ')}. svc dev is meant for one machine: its`,
    'traffic is not encrypted, and each signup gets credits. Webhooks to this machine are refused;',
    'SVC_WEBHOOK_ALLOW_NETS=127.0.0.0/8 allows them for every client. Without HOST (or --host) only this machine can connect.',
  ].join('\n')
}

/** The addresses at which other machines reach the server: for 0.0.0.0 and [::], all addresses of this machine. */
function reachedAt(url: string): string[] {
  const { hostname, port } = new URL(url)
  const families = { '0.0.0.0': ['IPv4'], '[::]': ['IPv4', 'IPv6'] }[hostname]
  if (!families) return [url]
  const found = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family, scopeid }) => !internal && !scopeid && families.includes(family))
    .map(({ address, family }) =>
      family === 'IPv6' ? `http://[${address}]:${port}` : `http://${address}:${port}`,
    )
  return [url, ...found]
}

/** Returns the URL with the loopback address in place of 0.0.0.0 or [::]. */
function localAddress(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
}
