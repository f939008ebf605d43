CREATE TABLE "saved_filters" (
	"workspace_id" text NOT NULL,
	"user_id" text NOT NULL,
	"id" text NOT NULL,
	"name" text NOT NULL,
	"filter" json NOT NULL,
	CONSTRAINT "saved_filters_workspace_id_user_id_id_pk" PRIMARY KEY("workspace_id","user_id","id")
);
