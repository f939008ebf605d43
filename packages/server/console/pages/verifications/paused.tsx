import type { PausedCountry } from '../../../src/console-api/operator/answers.ts'
import { Button, Icon, Time } from '../../parts/index.ts'
import { countryName, number } from '../../shell/format.ts'
import { chosenWorkspace, may, session } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { useAct } from '../operator/acts.tsx'
import { send } from '../operator/polled.ts'

/** A sentence about a country to which no codes are sent. */
function PauseText({ country, paused_at, ends_at, sent, approved }: PausedCountry) {
  return (
    <>
      {rich(
        'Codes to {country} are paused: {approved} of {sent} messages were approved, so bots may request them. The pause began {time}, and ends {time2} if approvals do not end it earlier.',
        {
          country: countryName(country),
          approved: number(approved),
          sent: number(sent),
          time: <Time at={paused_at} />,
          time2: <Time at={ends_at} exact />,
        },
      )}
    </>
  )
}

/** The countries to which a workspace sends no codes; nothing without one. Only an operator can end a pause. */
export function PausedCountries({
  paused,
  workspaceId = chosenWorkspace.value ?? session.value?.workspace_id,
  onChange,
}: {
  paused: readonly PausedCountry[]
  workspaceId?: string | undefined
  onChange(): void
}) {
  const { act, dialog } = useAct()
  const active = paused.filter(({ is_active }) => is_active)
  if (active.length === 0) return null
  const resume = ({ country }: PausedCountry) =>
    act({
      title: t('Send codes to {country} again?', { country: countryName(country) }),
      action: t('Resume'),
      text: t('Codes are sent whatever is approved. What was counted before is forgotten then.'),
      fields: [['hours', t('Hours'), t('For how long, 1 to 720')]],
      start: { hours: '24' },
      async run({ hours, reason }) {
        const body = { country, hours: Number(hours), reason }
        await send(`/workspaces/${workspaceId}/allow-codes`, body)
        onChange()
        return t('Codes to {country} are sent again', { country: countryName(country) })
      },
    })
  return (
    <>
      <section class="card findings" aria-label={t('Paused countries')}>
        <ul>
          {active.map((one) => (
            <li key={one.country}>
              <Icon name="warning" />
              <div>
                <p>
                  <PauseText {...one} />{' '}
                  {!may('operate') && t('If people wait for these codes, ask the operator.')}
                </p>
                {may('operate') && <Button onClick={() => resume(one)}>{t('Resume')}</Button>}
              </div>
            </li>
          ))}
        </ul>
      </section>
      {dialog}
    </>
  )
}
