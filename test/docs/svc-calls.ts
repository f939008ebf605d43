import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { createProgram, run } from '../../packages/cli/src/program.ts'
import type { FoundCommand } from '../../packages/cli/test/commands-in.ts'
import { untilSeen } from '../../packages/cli/test/svc.ts'
import type { Call } from './calls.ts'
import { freePort, startServe } from './service.ts'

type Command = FoundCommand['command']

/** A machine may have more to do. */
const PATIENCE_MS = 60_000

/** The world of a page's commands. */
export interface World {
  folder: string
  /** Makes the service deliver an event to all webhooks. */
  send(): Promise<unknown>
}

/** Commands that run until a signal, and the output that marks them as ready. */
const LASTING: { words: string; isUp: RegExp; sends?: RegExp }[] = [
  { words: 'dev', isUp: /http:\/\/127\.0\.0\.1:\d+/ },
  { words: 'top', isUp: /\S/ },
  { words: 'webhooks listen', isUp: /whsec_|http:/, sends: /message\.(?:sent|delivered)/ },
  { words: 'messages tail', isUp: /^/, sends: /\S/ },
]

const BUSY = 'another backup is being made'

/** Commands that need an absent provider: only their arguments are checked. */
const ONLY_PARSED = ['providers test', 'billing refund', 'billing sync']

/** Runs `svc` as the shell called it. */
export async function answerSvc(call: Call, world: World): Promise<number> {
  const { command, names } = commandOf(call)
  if (ONLY_PARSED.includes(names)) return parse(call)
  if (names === 'serve') return serve(call, world)
  const lasting = LASTING.find(({ words }) => words === names)
  if (lasting) return runUntilUp(call, lasting, world)
  // A reader on a terminal confirms with yes.
  const hasYes = command.options.some(({ long }) => long === '--yes')
  const argv = hasYes && !call.argv.includes('--yes') ? [...call.argv, '--yes'] : call.argv
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const stderr = new PassThrough()
    const code = await run(argv, { ...call, stderr, stopSignal: () => call.gone })
    const errors = `${stderr.read() ?? ''}`
    // The service may still be making its first backup.
    const isBusy = code !== 0 && errors.includes(BUSY) && !call.gone.aborted
    if (!isBusy || Date.now() > deadline) {
      call.stderr.write(errors)
      return code
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** The called command, and its name after `svc`. */
function commandOf({ argv, ...io }: Call): { command: Command; names: string } {
  let command = createProgram(io).program
  const names: string[] = []
  for (const argument of argv) {
    const next = command.commands.find((each) => each.name() === argument)
    if (!next) break
    command = next
    names.push(argument)
  }
  return { command, names: names.join(' ') }
}

async function parse({ argv, ...io }: Call): Promise<number> {
  const { program, context } = createProgram(io)
  const silence = (command: Command): void => {
    command.action(() => {})
    command.commands.forEach(silence)
  }
  program.commands.forEach(silence)
  try {
    await program.parseAsync(argv, { from: 'user' })
    return 0
  } catch (error) {
    return context.output.failure(error)
  }
}

/** Runs the service until it answers. */
async function serve({ argv, cwd, env, stderr, gone }: Call, world: World): Promise<number> {
  const begin = async () =>
    startServe(argv, { cwd, env: { ...ownPlace(env, world), PORT: await freePort() } })
  // Another process may take the port before the service does.
  const running = await begin().catch((error: Error) => {
    if (!/in use/.test(error.message)) throw error
    return begin()
  })
  gone.addEventListener('abort', () => void running.stop())
  const ended = await running.stop()
  stderr.write(ended.stderr)
  return ended.code
}

async function runUntilUp(
  call: Call,
  { words, isUp, sends }: (typeof LASTING)[number],
  world: World,
): Promise<number> {
  const running = started(call, words === 'dev' ? ownPlace(call.env, world) : call.env)
  call.gone.addEventListener('abort', running.stop)
  await running.until(isUp)
  if (sends) {
    const before = running.text().length
    await world.send()
    await untilSeen(sends, () => running.text().slice(before), running.ended, PATIENCE_MS)
  }
  running.stop()
  return running.ended
}

interface Lasting {
  text(): string
  until(pattern: RegExp): Promise<unknown>
  stop(): void
  ended: Promise<number>
}

/** Runs in this process. */
function started(call: Call, env: NodeJS.ProcessEnv): Lasting {
  const stopping = new AbortController()
  let text = ''
  const heard = (to: Writable) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        text += chunk
        to.write(chunk)
        done()
      },
    })
  const streams = { stdout: heard(call.stdout), stderr: heard(call.stderr) }
  const stdin = new PassThrough().end()
  const stopSignal = () => stopping.signal
  const ended = run(call.argv, { ...call, ...streams, stdin, env, stopSignal })
  return {
    text: () => text,
    until: (pattern) => untilSeen(pattern, () => text, ended, PATIENCE_MS),
    stop: () => stopping.abort(),
    ended,
  }
}

/** A port and a data folder that the page's own server does not use. */
function ownPlace(env: NodeJS.ProcessEnv, { folder }: World): NodeJS.ProcessEnv {
  return { ...env, PORT: '0', SVC_DATA_DIR: mkdtempSync(join(folder, 'data-')) }
}
