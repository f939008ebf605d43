import type { Client } from '@svc/core/contract'
import type { Command } from 'commander'
import { Failure, misconfigured, unreachable, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { dataFolder, pathFrom } from '../settings/data-folder.ts'
import { givenKey, KEY_HELP, KEY_STDIN_HELP, type KeyOptions, SAFE_WAYS } from './api-key-option.ts'
import { devFilePath, readDevFile } from './dev-file.ts'
import { type Profile, readProfiles } from './profiles.ts'

const DEFAULT_URL = 'http://127.0.0.1:3000'

/** What a header can carry. */
const KEY_CHARACTERS = /^[\x21-\x7e]+$/

/** How long a server may take to answer before it counts as out of reach. */
const ANSWER_MAX_MS = 30_000

/** What a client command can be told about the server. */
export interface ConnectionOptions extends KeyOptions {
  url?: string
  profile?: string
}

/** A server to talk to, and the key to do it with. */
export interface Target {
  base_url: string
  api_key: string
}

/** Adds the options that say which server a command talks to. */
export function withConnection(command: Command): Command {
  return command
    .option(
      '--url <url>',
      'the server (default: SVC_URL, else the profile, else the one of svc dev)',
    )
    .option('--key <key>', `${KEY_HELP} (default: SVC_API_KEY, else that of the same place)`)
    .option('--key-stdin', KEY_STDIN_HELP)
    .option(
      '--profile <name>',
      'a server of svc profiles (default: SVC_PROFILE, else the one in use)',
    )
}

/**
 * Finds the server and the key. Options go before SVC_URL and SVC_API_KEY, these before the profile, that before the
 * configuration file, and that before what `svc dev` left in the data folder. A key goes to the address beside it only,
 * but for that of `--key` and `--key-stdin`, and that of SVC_API_KEY where no SVC_URL is beside it.
 * @throws Failure when there is no key, or the address is none.
 */
export async function findTarget(options: ConnectionOptions, io: ProcessIo): Promise<Target> {
  const folder = dataFolder(io)
  const { environment, file } = givenBySettings(io)
  const key = await givenKey(options, io)
  const [profile, dev] = await Promise.all([
    findProfile({ ...options, ...(key !== undefined && { key }) }, io),
    readDevFile(folder),
  ])
  const given_url = options.url ?? environment.url ?? profile?.url ?? file.url
  const base_url = addressOf(given_url ?? dev?.url ?? DEFAULT_URL)
  const pairs: (Pair | null)[] = [
    { url: base_url, ...environment },
    profile,
    { url: dev?.url ?? DEFAULT_URL, ...file },
    dev && { url: dev.url, key: dev.api_key },
  ]
  const isMeant = (pair: Pair | null) => pair?.key && addressOf(pair.url ?? '') === base_url
  const api_key = key ?? pairs.find(isMeant)?.key
  if (api_key !== undefined && !KEY_CHARACTERS.test(api_key)) {
    throw usage(
      'the API key has characters that no key has: was all of it copied, and nothing else?',
    )
  }
  if (api_key !== undefined) return { base_url, api_key }
  const devFile = pathFrom(io.cwd, devFilePath(folder))
  if (given_url === undefined) {
    throw misconfigured(
      `no API key: give ${SAFE_WAYS}, or start svc dev (there is no ${devFile} yet)`,
    )
  }
  const way = environment.key ? '--key-stdin (SVC_API_KEY is that of SVC_URL)' : SAFE_WAYS
  throw misconfigured(`no API key for ${base_url}: give ${way}`)
}

/** An address and the key that belongs to it, as far as either is given. */
interface Pair {
  url?: string
  key?: string
}

/** What the environment gives, and what the configuration file does. */
function givenBySettings({ env, origins }: ProcessIo): { environment: Pair; file: Pair } {
  const environment: Pair = {}
  const file: Pair = {}
  for (const [name, field] of [
    ['SVC_URL', 'url'],
    ['SVC_API_KEY', 'key'],
  ] as const) {
    const text = env[name]?.trim()
    if (text) (origins?.has(name) ? file : environment)[field] = text
  }
  return { environment, file }
}

/**
 * The profile that is meant: the one that is named, else the one in use; none where address and key come before it.
 * @throws Failure for a name that no profile has, and for one that the environment would overrule unseen.
 */
async function findProfile(
  { url, key, profile: option }: ConnectionOptions,
  io: ProcessIo,
): Promise<Profile | null> {
  const { environment } = givenBySettings(io)
  const named = option ?? (io.env.SVC_PROFILE?.trim() || undefined)
  if (named !== undefined) {
    const way = option === undefined ? 'SVC_PROFILE' : '--profile'
    if (url === undefined && environment.url) throw overruled('SVC_URL', way)
    if (key === undefined && environment.key) throw overruled('SVC_API_KEY', way)
  }
  const isPair = url === undefined || environment.url === undefined
  const given_key = key ?? (isPair ? environment.key : undefined)
  if (named === undefined && (url ?? environment.url) && given_key) return null
  const { used, profiles } = await readProfiles(io)
  const profile = profiles.get(named ?? used ?? '')
  if (named === undefined || profile) return profile ?? null
  throw usage(`there is no profile "${named}": svc profiles list shows them`)
}

function overruled(variable: string, way: string): Failure {
  return usage(`${variable} is set and goes before ${way}: unset one of them`)
}

/** A client for the server that options and io name. */
export async function connect(
  options: ConnectionOptions,
  io: ProcessIo,
): Promise<{ client: Client; base_url: string }> {
  const target = await findTarget(options, io)
  const { createClient } = await import('@svc/core/contract')
  return {
    client: createClient({ ...target, fetch: reaching(target.base_url) }),
    base_url: target.base_url,
  }
}

/**
 * An address without what the client adds to it.
 * @throws Failure when it is none.
 */
export function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    // What stands before an @ may be a password.
    const got = text.includes('@') ? '' : `, got "${text}"`
    throw usage(`the server must be an http or https address${got}`)
  }
  if (url.username + url.password + url.search + url.hash !== '') {
    throw usage('the address of the server must be without user, password, query and fragment')
  }
  return text.replace(/(?<!\/)\/+$/, '').replace(/\/api\/v1$/, '')
}

/** `fetch` that says what to do when nobody answers, and never takes the key to where a redirect points. */
function reaching(base_url: string): typeof fetch {
  return async (input, init = {}) => {
    const timeout = AbortSignal.timeout(ANSWER_MAX_MS)
    const signal = init.signal ? AbortSignal.any([init.signal, timeout]) : timeout
    const response = await fetch(input, { ...init, signal, redirect: 'manual' }).catch(
      (error: unknown) => {
        if (init.signal?.aborted) throw error
        const why = timeout.aborted ? `no answer in ${ANSWER_MAX_MS / 1000} s` : reasonOf(error)
        throw unreachable(
          `${base_url} cannot be reached (${why}): start the server with svc dev, or give its address with --url`,
        )
      },
    )
    if (response.status < 300 || response.status > 399) return response
    const location = response.headers.get('location') ?? 'elsewhere'
    throw new Failure(
      'redirected',
      `${base_url} redirects to ${location}: give the final address with --url`,
    )
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  const { code, message } = cause as NodeJS.ErrnoException
  return code ?? message ?? String(cause)
}
