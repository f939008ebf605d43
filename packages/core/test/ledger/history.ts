import type { AcceptRequest } from '../../src/rules/accept.ts'
import type { ClaimedMessage } from '../../src/rules/claim.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { builders } from '../fixtures.ts'
import { accountOf, type LedgerModel, newModel } from '../storage/ledger-model.ts'
import { type Books, newBooks } from './books.ts'
import { linesOf, linesOfModel } from './lines.ts'
import type { Random } from './random.ts'
import { type Rows, rowFaults } from './rows.ts'
import type { Subject } from './subjects.ts'

const WORKSPACES = 2

/** One history in the making: what it is played on, and what the model says that there must be. */
export interface History {
  storage: Storage
  clock: Subject['clock']
  make: ReturnType<typeof builders>
  random: Random
  ids: readonly string[]
  model: LedgerModel
  books: Books
  accepted: AcceptRequest[]
  claims: ClaimedMessage[]
}

/** What one step did: of how many operations it was, and whether all of them were refused. */
export interface Done {
  /** For the report of a failure. */
  what: string
  operations: number
  /** Nothing may have changed, not even a byte. */
  refused: boolean
  answer: unknown
  foretold: unknown
}

/** One kind of step; null when there is nothing to do it with. */
export type Step = (history: History) => Promise<Done | null>

/** Opens accounts for a history on `subject`. */
export async function beginHistory(subject: Subject, random: Random) {
  const { storage, clock } = subject
  const make = builders(clock)
  const workspaces = Array.from({ length: WORKSPACES }, () => make.workspace())
  const ids = workspaces.map(({ id }) => id)
  await storage.write(async (stores) => {
    for (const row of workspaces) {
      await stores.workspaces.insert(row)
      await stores.credits.open(row.id, clock.now())
    }
  })
  const history: History = {
    storage,
    clock,
    make,
    random,
    ids,
    model: newModel(ids),
    books: newBooks(),
    accepted: [],
    claims: [],
  }
  let rows = await subject.rows(ids)
  let version = subject.version()

  /** Holds what a step did against the model and the invariants. */
  async function check({ answer, foretold, refused }: Done): Promise<void> {
    expectSame('answered', [JSON.stringify(answer)], [JSON.stringify(foretold)])
    const at = subject.version()
    const isUntouched = at !== null && at === version
    version = at
    if (refused && isUntouched) return
    const found = await subject.rows(ids)
    if (refused) expectSame('changed by what was refused', textOf(found), textOf(rows))
    rows = found
    expectSame('written', linesOf(rows), linesOfModel(history.model, history.books))
    const floors = (id: string) => accountOf(history.model, id).entries.map(({ floor }) => floor)
    const faults = rowFaults(rows, floors)
    if (faults.length > 0) throw new Error(faults.join('; '))
  }

  return { history, check }
}

function textOf(rows: Rows): string[] {
  return Object.entries(rows).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
}

function expectSame(what: string, found: readonly string[], foretold: readonly string[]): void {
  const length = Math.max(found.length, foretold.length)
  for (let i = 0; i < length; i++) {
    if (found[i] !== foretold[i]) {
      throw new Error(`${what}:\n      found ${found[i]}\n   foretold ${foretold[i]}`)
    }
  }
}
