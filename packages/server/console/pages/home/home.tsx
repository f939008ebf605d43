import { LinkButton, Loaded, Money, PageHead } from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { useLoad } from '../../shell/load.ts'

function Home() {
  const balance = useLoad((signal) => api.workspaces.balance({ signal }), [])
  return (
    <>
      <PageHead title="Home" />
      <Loaded of={balance}>
        {({ credits_balance }) => (
          <section class="cards">
            <div class="card">
              <h2>Balance</h2>
              <p class="figure">
                <Money credits={credits_balance} />
              </p>
              <LinkButton to="/credits">Credits</LinkButton>
            </div>
          </section>
        )}
      </Loaded>
    </>
  )
}

export default { title: 'Home', Page: Home }
