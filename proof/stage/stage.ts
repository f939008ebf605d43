import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A temporary folder, and all that runs for one proof. */
export interface Stage {
  folder: string
  /** Adds an end. The ends run in reverse order when the stage closes, each also after the failure of another. */
  atEnd(end: () => unknown): void
  /** Runs the ends, and removes the folder. Closing again does nothing. */
  close(): Promise<void>
}

/** Opens a stage with its folder below `parent`. */
export function openStage({ parent = tmpdir() }: { parent?: string } = {}): Stage {
  const folder = mkdtempSync(join(parent, 'svc-proof-'))
  const ends = [async () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })]
  async function close(): Promise<void> {
    const end = ends.pop()
    if (!end) return
    try {
      await end()
    } finally {
      await close()
    }
  }
  return { folder, atEnd: (end) => void ends.push(async () => void (await end())), close }
}

/** Opens a stage for the time of `work`. */
export async function onStage<T>(work: (stage: Stage) => Promise<T>): Promise<T> {
  const stage = openStage()
  try {
    return await work(stage)
  } finally {
    await stage.close()
  }
}
