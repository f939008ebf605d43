import { useState } from 'preact/hooks'
import { Loaded } from '../../parts/index.ts'
import { Requests, useDelivery } from '../webhooks/delivery.tsx'

/** The requests of a delivery and their answers, loaded when they are shown first. `version`: changes with the delivery. */
export function DeliveryDetails({
  webhookId,
  id,
  version,
}: {
  webhookId: string
  id: string
  version: number
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Requests</summary>
      {isOpen && <Shown key={version} webhookId={webhookId} id={id} />}
    </details>
  )
}

function Shown({ webhookId, id }: { webhookId: string; id: string }) {
  const load = useDelivery(webhookId, id)
  return (
    <Loaded of={load}>
      {({ delivery }) => (
        <div class="stack">
          <Requests delivery={delivery} />
        </div>
      )}
    </Loaded>
  )
}
