import type { OperatorPurchase } from '../../../src/console-api/operator/answers.ts'
import {
  Button,
  Copy,
  Empty,
  LinkButton,
  Loaded,
  PageHead,
  Table,
  Time,
} from '../../parts/index.ts'
import { number } from '../../shell/format.ts'
import { useAct } from './acts.tsx'
import { send, usePolled } from './polled.ts'

/** Why a purchase is under review. */
const REASONS: Record<string, string> = {
  amount_mismatch: 'The payment has another amount.',
  currency_mismatch: 'The payment is in another currency.',
}

const reasonOf = ({ review_reason: one }: OperatorPurchase) => REASONS[one] ?? one

/** What an act found out about a purchase. */
function resultOf(one: OperatorPurchase): string {
  if (one.review_reason !== '') return `Still under review: ${reasonOf(one)}`
  if (one.status === 'paid') {
    return 'The review ended: the purchase is paid, and its credits are booked.'
  }
  return `The review ended: the purchase is ${one.status}.`
}

function Purchases() {
  const load = usePolled<{ purchases: OperatorPurchase[] }>('/purchases')
  const { act, dialog } = useAct()
  const change = ({ id, workspace_id, price }: OperatorPurchase, verb: string, action: string) =>
    act({
      title: `${action}: purchase for ${price}`,
      action,
      text:
        verb === 'refund' &&
        'The payer gets the rest of the payment back. Credits that an operator granted for it stay.',
      async run({ reason }) {
        const { purchase } = await send<{ purchase: OperatorPurchase }>(
          `/purchases/${id}/${verb}`,
          { workspace_id, reason },
        )
        load.reload()
        return resultOf(purchase)
      },
    })
  return (
    <>
      <PageHead
        title="Purchases under review"
        text="A payment differs from its purchase, so no credits are granted. Refund it, or check it again after a change at the payment provider."
      />
      <Loaded of={load}>
        {({ purchases }) =>
          purchases.length === 0 ? (
            <Empty icon="credits" title="No purchase needs a review" />
          ) : (
            <Table
              label="Purchases"
              rows={purchases}
              keyOf={({ id }) => id}
              columns={[
                { name: 'Purchase', kind: 'main', value: ({ id }) => <Copy value={id} /> },
                { name: 'Status', value: ({ status }) => status },
                { name: 'Price', value: ({ price }) => price },
                { name: 'Credits', kind: 'number', value: ({ credits }) => number(credits) },
                { name: 'Reason', kind: 'wide', value: reasonOf },
                { name: 'Created', value: ({ created_at }) => <Time at={created_at} /> },
              ]}
              actions={(one) => (
                <>
                  <LinkButton to={`/operator/workspaces/${one.workspace_id}`}>Workspace</LinkButton>
                  <Button onClick={() => change(one, 'check', 'Check again')}>Check again</Button>
                  <Button kind="danger" onClick={() => change(one, 'refund', 'Refund')}>
                    Refund
                  </Button>
                </>
              )}
            />
          )
        }
      </Loaded>
      {dialog}
    </>
  )
}

export default { title: 'Purchases under review', Page: Purchases }
