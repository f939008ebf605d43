import { createAssembly, type Whole } from './smsc-assembly.ts'
import { type IdForm, idOf } from './smsc-receipt.ts'
import type { Submission } from './smsc-submission.ts'

/** A submit_sm that the SMSC accepted: the results of a client are compared with it. */
export interface Accepted extends Submission {
  /** As in the submit_sm_resp, sent or not. */
  id: string
  /** The number behind it. */
  serial: number
  /** Whether the submit_sm_resp was sent. */
  is_answered: boolean
}

/** Keeps all accepted messages; ids are counted from `first_id`. */
export function createStore({
  id_form,
  first_id,
  onMessage,
}: {
  id_form: IdForm
  first_id: number
  onMessage: ((whole: Whole<Accepted>) => void) | undefined
}) {
  const accepted: Accepted[] = []
  const assembly = createAssembly<Accepted>()
  let next_id = first_id
  return {
    accepted,
    messages: assembly.wholes,
    incomplete: assembly.begun,
    take(submission: Submission): Accepted {
      const serial = next_id
      next_id += 1
      const one = { ...submission, serial, id: idOf(serial, id_form), is_answered: false }
      accepted.push(one)
      const before = assembly.wholes.length
      assembly.add(one)
      for (const whole of assembly.wholes.slice(before)) onMessage?.(whole)
      return one
    },
    /** The newest message with the id: ids repeat after a restart. */
    find: (id: unknown): Accepted | undefined => accepted.findLast((one) => one.id === id),
    beginIdsAnew(): void {
      next_id = first_id
    },
  }
}
