CREATE TABLE "ended_sessions" (
	"workspace_id" text NOT NULL,
	"session_hash" text NOT NULL,
	"ends_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "ended_sessions_workspace_id_session_hash_pk" PRIMARY KEY("workspace_id","session_hash")
);
--> statement-breakpoint
CREATE TABLE "owner_mails" (
	"workspace_id" text NOT NULL,
	"kind" text NOT NULL,
	"mailed_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "owner_mails_workspace_id_kind_pk" PRIMARY KEY("workspace_id","kind")
);
--> statement-breakpoint
CREATE INDEX "ended_sessions_ends" ON "ended_sessions" USING btree ("ends_at");