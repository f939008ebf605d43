import type { BodyIn, Form } from '../contract/endpoints/endpoint.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type { newSavedFilter, SavedFilter } from '../contract/resources/messages.ts'
import type { SavedFilterRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** The owner of saved filters: a login in a workspace. */
export interface FilterOwner {
  workspace_id: string
  user_id: string
}

/** The filters of messages that people saved. */
export interface SavedFilters<F extends Form = 'given'> {
  /** The filters of a person, by name. */
  list(owner: FilterOwner): Promise<SavedFilter[]>
  /**
   * Saves a filter under a name.
   * @throws SvcError `validation_error` for a name that the person uses, or too many filters.
   */
  add(owner: FilterOwner, filter: BodyIn<{ body: typeof newSavedFilter }, F>): Promise<SavedFilter>
  /**
   * Replaces the name and the values of a saved filter.
   * @throws SvcError `not_found`; `validation_error` for a name that another filter has.
   */
  change(
    owner: FilterOwner,
    id: string,
    filter: BodyIn<{ body: typeof newSavedFilter }, F>,
  ): Promise<SavedFilter>
  /**
   * Deletes a saved filter.
   * @throws SvcError `not_found`
   */
  remove(owner: FilterOwner, id: string): Promise<void>
}

export function createSavedFilters({
  storage,
  runtime,
}: {
  storage: Storage
  runtime: Pick<Runtime, 'id'>
}): SavedFilters<'decoded'> {
  return {
    async list({ workspace_id, user_id }) {
      const rows = await storage.read.savedFilters.list(workspace_id, user_id)
      return rows.map(recordOf).sort((a, b) => (a.name < b.name ? -1 : 1))
    },
    add: ({ workspace_id, user_id }, { name, filter }) =>
      storage.write(async ({ savedFilters }) => {
        await savedFilters.lock(workspace_id, user_id)
        const all = await savedFilters.list(workspace_id, user_id)
        if (all.length >= LIMITS.saved_filters) {
          throw invalid('', `At most ${LIMITS.saved_filters} filters can be saved: delete one`)
        }
        assertFree(all, name)
        const row = { workspace_id, user_id, id: runtime.id(), name, filter }
        await savedFilters.insert(row)
        return recordOf(row)
      }),
    change: ({ workspace_id, user_id }, id, { name, filter }) =>
      storage.write(async ({ savedFilters }) => {
        await savedFilters.lock(workspace_id, user_id)
        const all = await savedFilters.list(workspace_id, user_id)
        const others = all.filter((one) => one.id !== id)
        assertFree(others, name)
        const isFound = await savedFilters.change({ workspace_id, user_id, id }, { name, filter })
        if (!isFound) throw notFound()
        return { id, name, filter }
      }),
    async remove({ workspace_id, user_id }, id) {
      const key = { workspace_id, user_id, id }
      if (!(await storage.write(({ savedFilters }) => savedFilters.remove(key)))) throw notFound()
    },
  }
}

function recordOf({ id, name, filter }: SavedFilterRow): SavedFilter {
  return { id, name, filter }
}

function assertFree(all: readonly SavedFilterRow[], name: string): void {
  if (all.some((one) => one.name === name)) throw invalid('name', 'A saved filter has this name')
}

function notFound(): SvcError {
  return new SvcError('not_found', 'Saved filter not found')
}
