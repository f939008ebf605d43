import type { ReactElement } from 'react'
import type { Context } from '../context.ts'
import { type OutputStream, type ProcessIo, stopSignalOf } from '../process/process-io.ts'

const ENTER_OWN_SCREEN = '\u001b[?1049h\u001b[2J\u001b[H'
// This sequence clears the screen first, because tmux keeps lines of a screen after a resize.
const LEAVE_OWN_SCREEN = '\u001b[2J\u001b[H\u001b[?1049l'
const ERASE_SCROLLBACK = '\u001b[3J'

/**
 * Whether a view can be shown. A view needs a terminal with a keyboard. With `--json`, on a dumb terminal and in CI,
 * a command prints plain lines; in CI because ink would draw only at the end.
 */
export function canOpenView({ io, output }: Context): boolean {
  const { stdin, stdout, env } = io
  const isInteractive = stdout.isTTY === true && stdin.isTTY === true && !!stdin.setRawMode
  return isInteractive && !output.isJson() && env.TERM !== 'dumb' && !isCi(env)
}

/**
 * Shows a view until it ends itself (`useApp().exit()`), Ctrl-C is pressed, or the run is stopped. It always restores
 * the terminal. The view must have fewer lines than the terminal (`rows - 1`), use `output.style` for colours, and make
 * foreign texts `printable`.
 *
 * @param screen `full` uses the alternate screen; `inline` draws below the earlier output.
 * @param load imports the view and creates its element. Only this function loads ink and React.
 * @throws the error that the view passed to `exit(error)`.
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
  // The development build of React records measurements of every render.
  process.env.NODE_ENV ??= 'production'
  const [{ render }, element] = await Promise.all([import('ink'), load()])
  const stop = stopSignalOf(io)
  if (stop.aborted) return
  const { stdin, stdout, stderr } = io
  const leave = screen === 'full' ? enterOwnScreen(stdout) : () => {}
  try {
    const instance = render(element, {
      stdin: stdin as NodeJS.ReadStream,
      stdout: withoutErase(stdout) as NodeJS.WriteStream,
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

/** Enters the alternate screen. Returns the function that leaves it; that function also runs when the process exits. */
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

/** Removes the sequence that ink writes to erase the scrollback when the terminal becomes smaller than the view. */
function withoutErase(stdout: OutputStream): OutputStream {
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

/** Whether ink detects CI. The rule is the same as in ink. */
function isCi(env: NodeJS.ProcessEnv): boolean {
  if (env.CI === '0' || env.CI === 'false') return false
  return Object.keys(env).some((name) => /^(CI|CONTINUOUS_INTEGRATION|CI_.*)$/.test(name))
}
