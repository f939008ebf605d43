import { invalid, SvcError } from '../contract/errors.ts'
import { formatCredits, type Units } from '../contract/units.ts'
import type { Runtime } from '../runtime.ts'
import type { Storage } from '../storage/storage.ts'
import type { Entry } from './decide.ts'
import { grantOperation } from './grant.ts'

export interface Credits {
  /**
   * Gives credits to a workspace. With the `id` of an earlier grant nothing is given again: the entry that stands is
   * answered.
   * @throws SvcError `not_found`; `validation_error` for an amount of 0 or below, or another than the earlier grant's.
   */
  grant(
    workspaceId: string,
    grant: {
      amount: Units
      id?: string | undefined
      actor: string
      description?: string | undefined
    },
  ): Promise<{ entry: Entry; repeated: boolean }>
  /** The ledger, newest first. */
  entries(workspaceId: string, page: { limit: number; offset: number }): Promise<Entry[]>
}

export function createCredits({
  storage,
  runtime,
}: {
  storage: Storage
  runtime: Runtime
}): Credits {
  return {
    async grant(workspaceId, { amount, id, actor, description }) {
      if (amount <= 0) throw invalid('amount', 'A grant must be above 0 credits')
      const operation = grantOperation(runtime, {
        amount,
        reference: { type: 'grant', id: id ?? runtime.id(), n: 0 },
        campaign: 'operator',
        actor,
        description: description ?? null,
      })
      return storage.write(async ({ workspaces, credits }) => {
        if (!(await workspaces.byId(workspaceId))) {
          throw new SvcError('not_found', 'Workspace not found')
        }
        const decision = await credits.post(workspaceId, operation)
        if (!decision.ok) {
          if (decision.reason !== 'ref_conflict') {
            throw new Error(`a grant was refused: ${decision.reason}`)
          }
          const given = formatCredits(decision.standing.amount)
          throw invalid('id', `Grant ${id} was given before, of ${given} credits`)
        }
        if ('repeated' in decision) return { entry: decision.repeated, repeated: true }
        return { entry: decision.entry, repeated: false }
      })
    },
    entries: (workspaceId, page) => storage.read.credits.entries(workspaceId, page),
  }
}
