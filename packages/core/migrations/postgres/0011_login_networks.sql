CREATE TABLE "login_networks" (
	"workspace_id" text NOT NULL,
	"network" text NOT NULL,
	"last_login_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "login_networks_workspace_id_network_pk" PRIMARY KEY("workspace_id","network")
);
--> statement-breakpoint
CREATE INDEX "login_networks_last_login" ON "login_networks" USING btree ("last_login_at");