import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CpuProfile } from '../stage/child.ts'
import { count, percent } from './figure.ts'

type Frame = CpuProfile['nodes'][number]['callFrame']

/** Functions in which a thread waits: V8's name for it, and the wait of an idle thread of the pool. */
const IDLE = new Set(['(idle)', '(root)', 'atomicsWaitLoop'])

/** Threads with less than this share of the busiest one's time are omitted. */
const SHOWN_SHARE = 0.1

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

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

/**
 * The busy milliseconds of a thread by part. A sample belongs to the part whose pattern matches the file of its function
 * (`packages/core/src/…`, `smtp-server/dist/…`, `node:net`), or of its nearest caller with such a file; the first pattern counts.
 */
export function timesOf(
  { nodes, samples, timeDeltas }: CpuProfile,
  parts: readonly (readonly [part: string, files: RegExp])[],
  other: string,
): Map<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const partOfNode = new Map<number, string>()
  const visit = (id: number, of: string) => {
    const node = byId.get(id)
    if (!node) return
    const file = fileOf(node.callFrame)
    const part = file === null ? of : (parts.find(([, files]) => files.test(file))?.[0] ?? of)
    partOfNode.set(id, part)
    for (const child of node.children ?? []) visit(child, part)
  }
  const [root] = nodes
  if (root) visit(root.id, other)
  const times = new Map([...parts.map(([part]) => [part, 0] as const), [other, 0]])
  samples.forEach((id, i) => {
    if (IDLE.has(byId.get(id)?.callFrame.functionName ?? '')) return
    const part = partOfNode.get(id) ?? other
    times.set(part, (times.get(part) ?? 0) + Math.max(0, timeDeltas[i] ?? 0) / 1000)
  })
  return times
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

function nameOf(frame: Frame): string {
  const name = frame.functionName || '(anonymous)'
  const file = fileOf(frame)
  if (file === null) return name
  return frame.url.startsWith('file:') ? `${name}  ${file}:${lineOf(frame)}` : `${name}  ${file}`
}

/** The file of a function, as the sources name it; null for a function of the engine. */
function fileOf({ functionName, url, ...at }: Frame): string | null {
  if (functionName === '(garbage collector)') return functionName
  if (!url.startsWith('file:')) return url || null
  const file = fileURLToPath(url)
  const entry = entryOf(file, at)
  const source = entry ? join(dirname(file), entry.originalSource) : file
  return relative(ROOT, source).replace(/^.*node_modules\//, '')
}

function lineOf({ url, ...at }: Frame): number {
  return (entryOf(fileURLToPath(url), at)?.originalLine ?? at.lineNumber) + 1
}

function entryOf(file: string, { lineNumber, columnNumber }: Omit<Frame, 'functionName' | 'url'>) {
  const entry = sourceMapOf(file)?.findEntry(lineNumber, columnNumber)
  // A mapping of generated code has no source.
  return entry !== undefined && 'originalSource' in entry && entry.originalSource
    ? entry
    : undefined
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
