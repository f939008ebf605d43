import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'

/** The tags that contacts of the workspace have, in their order; empty until they are loaded. */
export function useKnownTags(): readonly string[] {
  const load = useLoad((signal) => ownApi.get<{ tags: string[] }>('/tags', {}, signal), [])
  return load.data?.tags ?? []
}
