import { createByteBudget } from '@svc/core/operate'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Bodies up to this size are read at once, like those of all other requests. */
const SMALL_BYTES = 1024 * 1024

/**
 * The large bodies that are in memory at once, until their answers. With its decoded files and the parts that are being
 * stored, a body takes about three times as much. A body above this size is read alone.
 */
const BYTES_MAX = 64 * 1024 * 1024

/** The same for one workspace, so that the slow requests of one do not stop those of the others. */
const BYTES_OF_WORKSPACE = BYTES_MAX / 2

/**
 * Makes a hook that lets a request with a large body wait until the body fits into memory. The client cannot send it
 * meanwhile. The time limit of a request also ends the wait.
 */
export function createBodyBudget() {
  const all = createByteBudget(BYTES_MAX)
  const workspaces = new Map<
    string,
    { budget: ReturnType<typeof createByteBudget>; users: number }
  >()

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const bytes = bytesOf(request)
    const workspaceId = request.svcIdentity?.workspace_id ?? ''
    if (bytes <= SMALL_BYTES) return
    const own = workspaces.get(workspaceId) ?? {
      budget: createByteBudget(BYTES_OF_WORKSPACE),
      users: 0,
    }
    workspaces.set(workspaceId, own)
    own.users += 1
    const releases: (() => void)[] = []
    const gone = new AbortController()
    reply.raw.once('close', () => {
      gone.abort(new Error('the client left'))
      for (const release of releases.splice(0)) release()
      own.users -= 1
      if (own.users === 0) workspaces.delete(workspaceId)
    })
    for (const { reserve } of [own.budget, all]) {
      const release = await reserve(bytes, gone.signal)
      if (gone.signal.aborted) release()
      else releases.push(release)
    }
  }
}

/** The announced size of the body; without it, the largest that the route takes. */
function bytesOf({ headers, routeOptions }: FastifyRequest): number {
  const limit = routeOptions.bodyLimit ?? SMALL_BYTES
  const length = headers['content-length']
  return length === undefined ? limit : Math.min(Number(length), limit)
}
