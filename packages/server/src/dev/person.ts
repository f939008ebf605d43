import { uuid } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import { type ConsoleOperator, type ConsoleUser, chosenWorkspace } from '../console-api/access.ts'
import type { ConsoleOptions } from '../console-api/console.ts'
import { isLocal } from './local-only.ts'
import type { DevToolsOptions } from './tools.ts'

/** The number of workspaces that the console of `svc dev` offers. */
const WORKSPACES_MAX = 1_000

/**
 * The person of `svc dev`: a browser on this machine needs no sign-in. It is the owner of the demo workspace, or of another
 * workspace that it chooses, and an operator.
 */
export function devPerson(
  core: Pick<DecodedCore, 'workspaces'>,
  { demo }: DevToolsOptions,
): Required<Pick<ConsoleOptions, 'authenticate' | 'workspaces'>> {
  async function isThere(id: string): Promise<boolean> {
    if (!uuid.safeParse(id).success) return false
    return core.workspaces.account(id).then(
      () => true,
      () => false,
    )
  }

  return {
    async authenticate(request): Promise<ConsoleUser | ConsoleOperator | null> {
      if (!isLocal(request)) return null
      const operator = 'local'
      const own = demo?.()
      if (!own) return { operator }
      const { workspace_id } = own
      const chosen = chosenWorkspace(request) ?? workspace_id
      const isShown = chosen === workspace_id || (await isThere(chosen))
      return isShown ? { workspace_id: chosen, operator } : { operator }
    },
    async workspaces() {
      const all = await core.workspaces.list({ limit: WORKSPACES_MAX, offset: 0 })
      return all.map(({ id, name }) => ({ id, name, role: 'owner' }))
    },
  }
}
