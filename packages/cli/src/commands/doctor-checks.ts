import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { isLoopback } from '@svc/core/contract'
import type { Config } from '@svc/server'
import { type Finding, findingsOf, reasonOf } from '@svc/server/doctor'
import type { ProcessIo } from '../process/process-io.ts'
import { settingsOf } from '../settings/data-folder.ts'
import { unknownVariables } from '../settings/setting-names.ts'
import { withOrigins } from '../settings/setting-sources.ts'
import { counted } from '../show/text.ts'

/** Checks the settings. The configuration is null when they are invalid. */
export async function checkSettings(
  io: ProcessIo,
): Promise<{ findings: Finding[]; config: Config | null }> {
  const is = findingsOf('settings')
  const { readConfig, warnOfDatabase, warnOfSettings } = await import('@svc/server')
  let config: Config
  try {
    config = readConfig(settingsOf(io))
  } catch (error) {
    const reason = reasonOf(withOrigins(error, io))
    return { findings: [is.error(reason, 'svc serve refuses to start with it')], config: null }
  }
  const findings: Finding[] = []
  const warn = (_fields: object, text: string) => {
    findings.push(is.warning(text, 'svc config shows each setting and where it comes from'))
  }
  warnOfSettings({ warn }, config, { dev: false })
  for (const text of unknownVariables(io.env)) warn({}, text)
  // The check of the database reports an invalid URL.
  await warnOfDatabase(
    {
      warn: (_fields, text) =>
        findings.push(
          is.warning(text, 'add ?sslmode=verify-full&sslrootcert=<file> to SVC_DATABASE_URL'),
        ),
    },
    config,
  ).catch(() => {})
  findings.push(...exposure(config, is))
  return { findings: findings.length > 0 ? findings : [is.ok('valid')], config }
}

function exposure(
  { host, public_url, trust_proxy }: Config,
  is: ReturnType<typeof findingsOf>,
): Finding[] {
  if (!isLoopback(host) && public_url.startsWith('http://')) {
    return [
      is.warning(
        `keys and passwords are sent to ${host} without encryption`,
        'use a reverse proxy with TLS, such as nginx, and set SVC_PUBLIC_URL to its https address',
      ),
    ]
  }
  if (public_url.startsWith('https://') && trust_proxy.length === 0) {
    return [
      is.warning(
        'SVC_TRUST_PROXY is not set: all clients behind the proxy count as one client, and share its rate limits',
        'set it to the address of the proxy, such as 127.0.0.1/32',
      ),
    ]
  }
  return []
}

const ANSWER_MAX_MS = 5_000

/** Checks that a server answers on this machine and at its public address. */
export async function checkServer(
  { host, port, public_url }: Pick<Config, 'host' | 'port' | 'public_url'>,
  { offline }: { offline: boolean },
): Promise<Finding[]> {
  const is = findingsOf('server')
  const { urlOf } = await import('@svc/server')
  const here = urlOf(host.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^::$/, '::1'), port)
  const findings: Finding[] = [await healthOf(here, is)]
  if (offline || public_url === urlOf(host, port)) return findings
  try {
    const answer = await fetch(`${public_url}/health/live`, {
      signal: AbortSignal.timeout(ANSWER_MAX_MS),
      redirect: 'manual',
    })
    findings.push(
      answer.ok
        ? is.ok(`answers at ${public_url}`)
        : is.error(
            `${public_url}/health/live answers ${answer.status}`,
            'SVC_PUBLIC_URL is wrong, or its proxy forwards to another server',
          ),
    )
  } catch (error) {
    findings.push(
      is.error(
        `${public_url} cannot be reached from here: ${reasonOf(error)}`,
        'links in mails and callbacks of providers use it: check name, certificate and proxy',
      ),
    )
  }
  return findings
}

async function healthOf(url: string, is: ReturnType<typeof findingsOf>): Promise<Finding> {
  try {
    const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(ANSWER_MAX_MS) })
    const { status, services } = (await answer.json()) as {
      status: string
      services: { database?: unknown }
    }
    if (status === 'ok') return is.ok(`answers at ${url}`)
    if (services.database === 'checkpoint_error') {
      return is.error(
        `${url}: SQLite cannot write its log back into the database file`,
        'its log names the error; check the disk of the file now, because the write-ahead log grows until the disk is full',
      )
    }
    return is.error(
      `${url} is ${status}: ${JSON.stringify(services)}`,
      'see its log and the other findings',
    )
  } catch {
    return is.warning(`no server answers at ${url}`, 'start svc serve if it should run here')
  }
}

const DAY_MS = 86_400_000
/** Renewals of 90-day certificates are due 30 days before the end, so half of this time was not used. */
const EXPIRY_WARNING_DAYS = 14
const LINE_BYTES_MAX = 10_000

type Is = ReturnType<typeof findingsOf>
type InletConfig = Pick<
  Config,
  'smtp_listen' | 'smtp_tls_cert' | 'smtp_tls_key' | 'smtp_sms_domain' | 'providers'
>

/** Checks the certificate of the SMTP inlet, and that each of its addresses answers. Nothing to report without an inlet. */
export async function checkInlet(config: InletConfig, { now }: { now: Date }): Promise<Finding[]> {
  const is = findingsOf('inlet')
  const { inletCertificate, inletSettings } = await import('@svc/server')
  const settings = inletSettings(config)
  if (settings === null) return []
  try {
    const certificate = await inletCertificate(settings)
    const file = certificate && new X509Certificate(certificate.cert)
    const listeners = await Promise.all(
      settings.addresses
        // The system chooses the port 0, which is not known here.
        .filter(({ port }) => port !== 0)
        .map((address) => checkListener(address, file, is)),
    )
    return [...(file ? certificateFindings(file, now, is) : []), ...listeners]
  } catch (error) {
    return [is.error(reasonOf(error), 'svc serve refuses to start with it')]
  }
}

function certificateFindings(certificate: X509Certificate, now: Date, is: Is): Finding[] {
  const { validToDate: until, validFromDate: from } = datesOf(certificate)
  const name = `the certificate for ${namesOf(certificate)}`
  const day = (date: Date) => date.toISOString().slice(0, 10)
  const advice = 'renew SVC_SMTP_TLS_CERT; the service reads the new file without a restart'
  const days = Math.floor((until.getTime() - now.getTime()) / DAY_MS)
  const validity =
    until <= now
      ? is.error(`${name} expired on ${day(until)}`, advice)
      : from > now
        ? is.error(`${name} is not valid before ${day(from)}`, 'check it, and the clock')
        : days < EXPIRY_WARNING_DAYS
          ? is.warning(`${name} expires in ${counted(days, 'day')}`, advice)
          : is.ok(`${name} is valid until ${day(until)}`)
  const isSelfSigned = certificate.checkIssued(certificate)
  if (!isSelfSigned) return [validity]
  const strangers = is.warning(
    `${name} is self-signed: clients that verify certificates refuse it`,
    'use a certificate of a public authority, or install this one in each client',
  )
  return [validity, strangers]
}

/** The property `validToDate` is missing in older versions of Node. */
function datesOf({ validTo, validFrom }: X509Certificate) {
  return { validToDate: new Date(validTo), validFromDate: new Date(validFrom) }
}

function namesOf({ subjectAltName, subject }: X509Certificate): string {
  const names = subjectAltName ?? subject
  return names.replace(/(?:DNS|IP Address):/g, '').replaceAll('\n', ', ')
}

async function checkListener(
  { host, port, implicit_tls }: { host: string; port: number; implicit_tls: boolean },
  file: X509Certificate | null,
  is: Is,
): Promise<Finding> {
  const { urlOf } = await import('@svc/server')
  const here = host.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^::$/, '::1')
  const url = urlOf(here, port).replace(/^http/, implicit_tls ? 'smtps' : 'smtp')
  const socket = connectPlain({ host: here, port })
  // Errors are found by the reads.
  socket.on('error', () => {})
  const timer = setTimeout(() => socket.destroy(), ANSWER_MAX_MS)
  try {
    await once(socket, 'connect')
  } catch {
    clearTimeout(timer)
    return is.warning(`no SMTP inlet answers at ${url}`, 'start svc serve if it should run here')
  }
  try {
    const served = implicit_tls ? await startTls(socket) : socket
    await reply(served, '220')
    const tls = implicit_tls ? (served as TLSSocket) : file ? await upgrade(socket) : null
    const fingerprint = tls?.getPeerX509Certificate()?.fingerprint256
    if (file && fingerprint !== file.fingerprint256) {
      return is.warning(
        `${url} serves another certificate than SVC_SMTP_TLS_CERT`,
        'the server could not read the new file (see its log), or runs with other settings',
      )
    }
    return is.ok(`answers at ${url}`)
  } catch (error) {
    return is.error(
      `${url} does not answer as an SMTP inlet: ${reasonOf(error)}`,
      'another program listens there, or the server is overloaded: see its log',
    )
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
}

/** The certificate is compared with the file, so nothing needs to be verified. */
async function startTls(socket: Socket): Promise<TLSSocket> {
  const secure = connectTls({ socket, rejectUnauthorized: false })
  secure.on('error', () => {})
  await once(secure, 'secureConnect')
  return secure
}

async function upgrade(socket: Socket): Promise<TLSSocket> {
  socket.write('EHLO doctor\r\n')
  await reply(socket, '250')
  socket.write('STARTTLS\r\n')
  await reply(socket, '220')
  return startTls(socket)
}

/** Reads a reply, which may have several lines. @throws Error for another code, and when the connection ends. */
async function reply(socket: Socket, code: string): Promise<void> {
  let text = ''
  while (!/^\d{3} .*\r\n/m.test(text)) {
    if (text.length > LINE_BYTES_MAX) throw new Error('its reply is too long')
    const chunk: unknown = await Promise.race([
      once(socket, 'data').then(([data]) => data),
      once(socket, 'close').then(() => null),
    ])
    if (chunk === null) throw new Error(`no reply within ${ANSWER_MAX_MS / 1_000} s`)
    text += String(chunk)
  }
  if (!text.startsWith(code)) throw new Error(`it says ${JSON.stringify(text.trim().slice(0, 80))}`)
}
