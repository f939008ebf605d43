import type { Random } from '../stage/random.ts'
import type { Change } from './records.ts'

/** A disk with a cache that a power cut clears. */
export interface Disk {
  apply(change: Change): void
  /** A state that a power cut can leave now: each file's name and bytes, with any part of the unflushed data. */
  powerCut(random: Random): Map<string, Buffer>
  /** Whether a power cut now could leave more than one state. */
  isUnsettled(): boolean
}

/** The smallest part that a disk writes atomically. */
const SECTOR_BYTES = 512

interface Write {
  /** The bytes at `offset`; null if the file was truncated to `offset` bytes. */
  bytes: Buffer | null
  offset: number
}

interface File {
  /** Flushed data, which every power cut leaves. */
  flushed: Content
  /** Later data. */
  pending: Write[]
}

interface Content {
  bytes: Buffer
  size: number
}

/** Selects the unflushed writes that reached the disk. */
type Choice = (write: number, of: number) => (sector: number, sectors: number) => boolean

/** @param random decides which data a failed flush wrote before its failure. */
export function createDisk(random: Random): Disk {
  const names = new Map<string, File>()
  let flushedNames = new Map<string, File>()
  let pendingNames: ((names: Map<string, File>) => void)[] = []

  function changeNames(change: (names: Map<string, File>) => void): void {
    change(names)
    pendingNames.push(change)
  }

  function fileOf(name: string): File {
    const file = names.get(name)
    if (!file) throw new Error(`${name} is changed and was never created`)
    return file
  }

  function flush(name: string): void {
    if (name === '') {
      flushedNames = new Map(names)
      pendingNames = []
      return
    }
    const file = fileOf(name)
    write(file.flushed, file.pending, everything)
    file.pending = []
  }

  /** Linux marks data as written after a failed flush: no later flush writes it, until the process writes it again. */
  function failToFlush(name: string): void {
    const file = fileOf(name)
    write(file.flushed, file.pending, random.percent(60) ? nothing : chooseBy(random))
    file.pending = []
  }

  return {
    apply({ kind, name, offset, bytes }) {
      if (kind === 'created') {
        const file = { flushed: { bytes: Buffer.alloc(0), size: 0 }, pending: [] }
        changeNames((all) => all.set(name, file))
      } else if (kind === 'written') fileOf(name).pending.push({ bytes, offset })
      else if (kind === 'cut') fileOf(name).pending.push({ bytes: null, offset })
      else if (kind === 'flushed') flush(name)
      else if (kind === 'flush failed') failToFlush(name)
      else if (kind === 'removed') changeNames((all) => all.delete(name))
      else {
        const file = fileOf(name)
        changeNames((all) => {
          all.delete(name)
          all.set(bytes.toString(), file)
        })
      }
    },
    isUnsettled() {
      return (
        pendingNames.length > 0 ||
        [...flushedNames.values()].some((file) => file.pending.length > 0)
      )
    },
    powerCut(chance) {
      const left = new Map(flushedNames)
      // File systems write names in the order in which they changed.
      for (const change of pendingNames.slice(0, chance.between(0, pendingNames.length + 1))) {
        change(left)
      }
      const choice = chooseBy(chance)
      return new Map(
        [...left].map(([name, { flushed, pending }]) => {
          const content = { bytes: Buffer.from(flushed.bytes), size: flushed.size }
          write(content, pending, choice)
          return [name, content.bytes.subarray(0, content.size)]
        }),
      )
    },
  }
}

const everything: Choice = () => () => true
const nothing: Choice = () => () => false

function chooseBy(random: Random): Choice {
  const kind = random.between(0, 10)
  if (kind < 2) return nothing
  if (kind < 3) return everything
  if (kind < 6) {
    // Up to a torn write.
    const moment = random.next()
    return (write, of) => (sector, sectors) => (write + sector / sectors) / of < moment
  }
  // In any order.
  const share = random.pick([10, 50, 90])
  return () => () => random.percent(share)
}

/** Applies the part of each write that `choose` returns. */
function write(content: Content, writes: readonly Write[], choose: Choice): void {
  for (const [number, { bytes, offset }] of writes.entries()) {
    const has = choose(number, writes.length)
    if (!bytes) {
      if (has(0, 1)) resize(content, offset)
      continue
    }
    const first = Math.floor(offset / SECTOR_BYTES)
    const sectors = Math.ceil((offset + bytes.length) / SECTOR_BYTES) - first
    for (let sector = 0; sector < sectors; sector++) {
      if (!has(sector, sectors)) continue
      const from = Math.max(offset, (first + sector) * SECTOR_BYTES)
      const to = Math.min(offset + bytes.length, (first + sector + 1) * SECTOR_BYTES)
      if (to > content.size) resize(content, to)
      bytes.copy(content.bytes, from, from - offset, to - offset)
    }
  }
}

/** New bytes of a file are zero, as in every file system. */
function resize(content: Content, size: number): void {
  if (size > content.bytes.length) {
    const larger = Buffer.alloc(Math.max(size, content.bytes.length * 2))
    content.bytes.copy(larger, 0, 0, content.size)
    content.bytes = larger
  } else if (size < content.size) {
    content.bytes.fill(0, size, content.size)
  }
  content.size = size
}
