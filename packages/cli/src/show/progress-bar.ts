import type { OutputStream, ProcessIo } from '../process/process-io.ts'
import { printable, type Style, styleFor } from './text.ts'

const BAR_WIDTH = 24
/** The shortest time between two redraws. */
const REDRAW_MS = 80

/**
 * A bar of `width` cells and the percentage. A cell is filled when its whole part is done, so that the bar is full only
 * at 100 %. `style` dims the empty cells.
 */
export function barText(share: number, width: number, style: Style = (_, text) => text): string {
  const filled = Math.min(width, Math.floor(share * width))
  const percentage = `${Math.floor(share * 100)}%`.padStart(4)
  return `${'█'.repeat(filled)}${style('dim', '░'.repeat(width - filled))} ${percentage}`
}

/** Progress of work with a known number of steps. */
interface Progress {
  name: string
  done: number
  total: number
}

/** Shows progress on one line for each name. */
export interface ProgressBars {
  report(progress: Progress): void
  /** Ends the last line. */
  end(): void
}

/** Shows growing bars on a terminal. Elsewhere it writes one line when a name is finished. `isQuiet` shows nothing. */
export function progressBars(
  { stderr, env }: ProcessIo,
  { isQuiet = false }: { isQuiet?: boolean } = {},
): ProgressBars {
  if (isQuiet) return { report() {}, end() {} }
  return stderr.isTTY === true ? growing(stderr, env) : plain(stderr)
}

function plain(stderr: OutputStream): ProgressBars {
  return {
    report({ name, done, total }) {
      if (done === total) stderr.write(`${printable(name)}\t${done}\n`)
    },
    end() {},
  }
}

function growing(stderr: OutputStream, env: NodeJS.ProcessEnv): ProgressBars {
  const style = styleFor(stderr, env)
  let shown: string | null = null
  let shownAt = 0
  const close = () => {
    if (shown !== null) stderr.write('\n')
    shown = null
  }
  return {
    report({ name, done, total }) {
      if (shown !== name) close()
      const isFirstOrLast = shown === null || done === total
      if (!isFirstOrLast && Date.now() - shownAt < REDRAW_MS) return
      shown = name
      shownAt = Date.now()
      const share = total === 0 ? 1 : Math.min(done / total, 1)
      const count = `${done.toLocaleString('en')} of ${total.toLocaleString('en')}`
      const line = `${printable(name).padEnd(26)} ${barText(share, BAR_WIDTH, style)}  ${count}`
      stderr.write(`\r\u001b[K${line}`)
    },
    end: close,
  }
}
