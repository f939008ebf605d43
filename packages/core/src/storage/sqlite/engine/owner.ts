import { chownSync, statSync } from 'node:fs'

/**
 * Gives what root has made to whom `model` belongs: the server runs as that user, and could not open it otherwise. Anybody
 * else owns what they make.
 */
export function shareOwner(model: string, made: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(model)
  chownSync(made, uid, gid)
}
