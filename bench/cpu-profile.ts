import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { count, percent } from './figure.ts'

/** The used part of a `.cpuprofile`. */
interface CpuProfile {
  nodes: { id: number; callFrame: Frame }[]
  samples: number[]
  timeDeltas: number[]
}

interface Frame {
  functionName: string
  url: string
  /** From 0. */
  lineNumber: number
  columnNumber: number
}

/** Functions in which a thread waits: V8's name for it, and the wait of an idle thread of the pool. */
const IDLE = new Set(['(idle)', '(root)', 'atomicsWaitLoop'])

/** Threads with less than this share of the busiest one's time are omitted. */
const SHOWN_SHARE = 0.1

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** The functions with the most time of their own, without their callees, by thread, the busiest first. */
export function selfTimes(folder: string, limit: number): string[] {
  const profiles = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => summaryOf(JSON.parse(readFileSync(join(folder, name), 'utf8')) as CpuProfile))
  const busiest_ms = Math.max(...profiles.map(({ busy_ms }) => busy_ms))
  return profiles
    .filter(({ busy_ms }) => busy_ms > busiest_ms * SHOWN_SHARE)
    .toSorted((a, b) => b.busy_ms - a.busy_ms)
    .flatMap(({ busy_ms, functions }, i) => [
      `${i === 0 ? 'the busiest thread' : 'another thread'}: ${count(busy_ms)} ms`,
      ...functions
        .slice(0, limit)
        .map(
          ({ name, ms }) =>
            `${percent(ms / busy_ms).padStart(6)}  ${count(ms).padStart(6)} ms  ${name}`,
        ),
    ])
}

function summaryOf({ nodes, samples, timeDeltas }: CpuProfile) {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const totals = new Map<string, number>()
  samples.forEach((id, i) => {
    const frame = frames.get(id)
    if (!frame || IDLE.has(frame.functionName)) return
    const name = nameOf(frame)
    totals.set(name, (totals.get(name) ?? 0) + Math.max(0, timeDeltas[i] ?? 0) / 1000)
  })
  const functions = [...totals].map(([name, ms]) => ({ name, ms })).toSorted((a, b) => b.ms - a.ms)
  return { functions, busy_ms: functions.reduce((sum, { ms }) => sum + ms, 0) }
}

function nameOf({ functionName, url, lineNumber, columnNumber }: Frame): string {
  const name = functionName || '(anonymous)'
  if (!url.startsWith('file:')) return url ? `${name}  ${url}` : name
  const file = fileURLToPath(url)
  const entry = sourceMapOf(file)?.findEntry(lineNumber, columnNumber)
  const isMapped = entry !== undefined && 'originalSource' in entry
  const at = isMapped
    ? `${relative(ROOT, join(file, '..', entry.originalSource))}:${entry.originalLine + 1}`
    : `${relative(ROOT, file)}:${lineNumber + 1}`
  return `${name}  ${at.replace(/^.*node_modules\//, '')}`
}

const sourceMaps = new Map<string, SourceMap | null>()

/** The source map beside a built file; null if there is none. */
function sourceMapOf(file: string): SourceMap | null {
  const known = sourceMaps.get(file)
  if (known !== undefined) return known
  const mapFile = `${file}.map`
  const isOurs = !file.includes('node_modules') && existsSync(mapFile)
  const map = isOurs ? new SourceMap(JSON.parse(readFileSync(mapFile, 'utf8'))) : null
  sourceMaps.set(file, map)
  return map
}
