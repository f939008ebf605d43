import { printable } from './printable.ts'
import { styleFor } from './style.ts'
import type { OutputStream, Surroundings } from './surroundings.ts'

const BAR_WIDTH = 24
/** Redrawn as often as an eye notices. */
const EVERY_MS = 80

/** How far something with a known number of steps is. */
export interface Progress {
  name: string
  done: number
  total: number
}

/** Shows progress, one line for each name. */
export interface ProgressBars {
  tell(progress: Progress): void
  /** Leaves the last line as it is. */
  end(): void
}

/** Bars that grow on a terminal; elsewhere a line when something is done, or nothing at all. */
export function progressBars(
  { stderr, env }: Surroundings,
  { isQuiet = false }: { isQuiet?: boolean } = {},
): ProgressBars {
  if (isQuiet) return { tell() {}, end() {} }
  return stderr.isTTY === true ? growing(stderr, env) : plain(stderr)
}

function plain(stderr: OutputStream): ProgressBars {
  return {
    tell({ name, done, total }) {
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
    tell({ name, done, total }) {
      if (shown !== name) close()
      const isFirstOrLast = shown === null || done === total
      if (!isFirstOrLast && Date.now() - shownAt < EVERY_MS) return
      shown = name
      shownAt = Date.now()
      const share = total === 0 ? 1 : Math.min(done / total, 1)
      const full = Math.round(share * BAR_WIDTH)
      const bar = `${'█'.repeat(full)}${style('dim', '░'.repeat(BAR_WIDTH - full))}`
      const count = `${done.toLocaleString('en')} of ${total.toLocaleString('en')}`
      const line = `${printable(name).padEnd(26)} ${bar} ${`${Math.floor(share * 100)}%`.padStart(4)}  ${count}`
      stderr.write(`\r\u001b[K${line}`)
    },
    end: close,
  }
}
