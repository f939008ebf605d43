import type { OperatorPurchase } from '../../../src/console/operator/wire.ts'
import { Copy, Empty, LinkButton, Loaded, PageHead, Table, Time } from '../../parts/index.ts'
import { number } from '../../shell/format.ts'
import { usePolled } from './polled.ts'

function Purchases() {
  const load = usePolled<{ purchases: OperatorPurchase[] }>('/purchases')
  return (
    <>
      <PageHead
        title="Purchases under review"
        text="No credits are granted for them. svc billing sync and svc billing refund decide them."
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
                { name: 'Reason', kind: 'wide', value: (one) => one.review_reason },
                { name: 'Created', value: ({ created_at }) => <Time at={created_at} /> },
              ]}
              actions={(one) => (
                <LinkButton to={`/operator/workspaces/${one.workspace_id}`}>Workspace</LinkButton>
              )}
            />
          )
        }
      </Loaded>
    </>
  )
}

export default { title: 'Purchases under review', Page: Purchases }
