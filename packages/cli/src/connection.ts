import type { Client } from '@svc/core/contract'
import type { Command } from 'commander'
import { dataFolder, pathFrom } from './data-folder.ts'
import { devFilePath, readDevFile } from './dev-file.ts'
import { Failure, misconfigured, unreachable, usage } from './failure.ts'
import type { Surroundings } from './surroundings.ts'

const DEFAULT_URL = 'http://127.0.0.1:3000'

/** What a header can carry. */
const KEY_CHARACTERS = /^[\x21-\x7e]+$/

/** How long a server may take to answer before it counts as out of reach. */
const ANSWER_MAX_MS = 30_000

/** What a client command can be told about the server. */
export interface ConnectionOptions {
  url?: string
  key?: string
}

/** A server to talk to, and the key to do it with. */
export interface Target {
  base_url: string
  api_key: string
}

/** Adds the options that say which server a command talks to. */
export function withConnection(command: Command): Command {
  return command
    .option('--url <url>', 'the server (default: SVC_URL, else the one of svc dev)')
    .option('--key <key>', 'the API key (default: SVC_API_KEY, else the one of svc dev)')
}

/**
 * Finds the server and the key: options, then SVC_URL and SVC_API_KEY, then what `svc dev` left in the data folder. The
 * key of `svc dev` goes to its own server only.
 * @throws Failure when there is no key, or the address is none.
 */
export async function findTarget(
  options: ConnectionOptions,
  surroundings: Surroundings,
): Promise<Target> {
  const { env, cwd } = surroundings
  const folder = dataFolder(surroundings)
  const dev = await readDevFile(folder)
  const given_url = options.url ?? (env.SVC_URL?.trim() || undefined)
  const base_url = addressOf(given_url ?? dev?.url ?? DEFAULT_URL)
  const devKey = dev && addressOf(dev.url) === base_url ? dev.api_key : undefined
  const api_key = options.key ?? (env.SVC_API_KEY?.trim() || undefined) ?? devKey
  if (api_key !== undefined && !KEY_CHARACTERS.test(api_key)) {
    throw usage(
      'the API key has characters that no key has: was all of it copied, and nothing else?',
    )
  }
  if (api_key !== undefined) return { base_url, api_key }
  const file = pathFrom(cwd, devFilePath(folder))
  throw misconfigured(
    given_url === undefined
      ? `no API key: give --key or SVC_API_KEY, or start svc dev (there is no ${file} yet)`
      : `no API key for ${base_url}: give --key or SVC_API_KEY`,
  )
}

/** A client for the server that options and surroundings name. */
export async function connect(
  options: ConnectionOptions,
  surroundings: Surroundings,
): Promise<{ client: Client; base_url: string }> {
  const target = await findTarget(options, surroundings)
  const { createClient } = await import('@svc/core/contract')
  return {
    client: createClient({ ...target, fetch: reaching(target.base_url) }),
    base_url: target.base_url,
  }
}

function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw usage(`the server must be an http or https address, got "${text}"`)
  }
  return text.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
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
