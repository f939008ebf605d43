import type { ReactElement } from 'react'
import type { Context } from '../context.ts'
import { type OutputStream, type ProcessIo, stopSignalOf } from '../process/process-io.ts'

const ENTER_OWN_SCREEN = '\u001b[?1049h\u001b[2J\u001b[H'
// Cleared first: tmux keeps lines of a screen whose size has changed.
const LEAVE_OWN_SCREEN = '\u001b[2J\u001b[H\u001b[?1049l'
const ERASE_SCROLLBACK = '\u001b[3J'

/**
 * Whether a view can be shown: somebody sees it and can press keys. Elsewhere a command prints plain lines; so it does
 * where `--json` is given, on a dumb terminal, and in CI, where ink draws nothing before the end.
 */
export function canOpenView({ io, output }: Context): boolean {
  const { stdin, stdout, env } = io
  const isAnswered = stdout.isTTY === true && stdin.isTTY === true && !!stdin.setRawMode
  return isAnswered && !output.isJson() && env.TERM !== 'dumb' && !isCi(env)
}

/**
 * Shows a view until it ends itself (`useApp().exit()`), Ctrl-C is pressed or the run is asked to stop. Leaves the
 * terminal as it was found, however it ends. The view keeps below the terminal's height (`rows - 1` lines), colours by
 * `output.style`, and makes texts from elsewhere `printable`.
 *
 * @param screen `full` takes a screen of its own and gives the old one back; `inline` stays below what was printed.
 * @param load imports the view and makes its element: ink and React are loaded here and nowhere before.
 * @throws what the view gave to `exit(error)`.
 *
 * @example
 * await openView(context, {
 *   screen: 'inline',
 *   load: async () => (await import('./line-log.tsx')).lineLog(props),
 * })
 */
export async function openView(
  { io }: { io: ProcessIo },
  { screen, load }: { screen: 'full' | 'inline'; load: () => Promise<ReactElement> },
): Promise<void> {
  // React's development build measures every render and keeps what it measured.
  process.env.NODE_ENV ??= 'production'
  const [{ render }, element] = await Promise.all([import('ink'), load()])
  const stop = stopSignalOf(io)
  if (stop.aborted) return
  const { stdin, stdout, stderr } = io
  const leave = screen === 'full' ? enterOwnScreen(stdout) : () => {}
  try {
    const instance = render(element, {
      stdin: stdin as NodeJS.ReadStream,
      stdout: keepingScrollback(stdout) as NodeJS.WriteStream,
      stderr: stderr as NodeJS.WriteStream,
      patchConsole: false,
    })
    const unmount = () => instance.unmount()
    stop.addEventListener('abort', unmount, { once: true })
    await instance.waitUntilExit().finally(() => stop.removeEventListener('abort', unmount))
  } finally {
    leave()
  }
}

/** Answers the way back, which is also taken when the process ends first. */
function enterOwnScreen(stdout: OutputStream): () => void {
  let isOwn = true
  const leave = () => {
    process.off('exit', leave)
    if (isOwn) stdout.write(LEAVE_OWN_SCREEN)
    isOwn = false
  }
  process.once('exit', leave)
  stdout.write(ENTER_OWN_SCREEN)
  return leave
}

/** When a terminal becomes lower than the view, ink erases all that was ever printed; what others printed is to stay. */
function keepingScrollback(stdout: OutputStream): OutputStream {
  const write = (chunk: unknown, ...rest: unknown[]) => {
    const text = typeof chunk === 'string' ? chunk.replaceAll(ERASE_SCROLLBACK, '') : chunk
    return Reflect.apply(stdout.write, stdout, [text, ...rest])
  }
  return new Proxy(stdout, {
    get(target, name) {
      if (name === 'write') return write
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** As ink finds out. */
function isCi(env: NodeJS.ProcessEnv): boolean {
  if (env.CI === '0' || env.CI === 'false') return false
  return Object.keys(env).some((name) => /^(CI|CONTINUOUS_INTEGRATION|CI_.*)$/.test(name))
}
